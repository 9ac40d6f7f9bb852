/**
 * The changes of the tables since version 1. A change only adds something, so that processes which do not know it work as
 * before. The next minor version may use what was added: then `neededVersion` rises. What is not used any more is removed
 * with the next major version.
 *
 * @module
 */

/** The version of the tables that this process needs. It works with the next version too. */
export const neededVersion: number = 1;

/** The statements of each change, in order: the first one leads from version 1 to version 2. */
export const changes: readonly ((schema: string) => readonly string[])[] = [];
