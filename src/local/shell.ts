/**
 * Writes values for the commands of a shell.
 *
 * @module
 */

/** Quotes a value that has characters with a special meaning, so that a shell reads exactly this value. */
export function quoteForShell(value: string): string {
  if (/^[\w:/.-]+$/.test(value)) return value;
  const quoted = value.replaceAll("'", "'\\''");
  const escaped = value.replace(/['\\]/g, '\\$&').replace(hidden, toEscape);
  return value.search(hidden) < 0 ? `'${quoted}'` : `$'${escaped}'`;
}

/** Characters that would change how a line looks in a terminal. */
const hidden = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

function toEscape(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
