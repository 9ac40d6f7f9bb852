/**
 * Does something that takes a while once, for all who ask for it.
 *
 * @module
 */

/** Makes what everybody is given the same of; where making it fails, whoever asks next has it made anew. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
