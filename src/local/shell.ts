/**
 * Writes values for the commands of a shell, and for a terminal.
 *
 * @module
 */

/** Quotes a value that has characters with a special meaning, so that a shell reads exactly this value. */
export function quoteForShell(value: string): string {
  if (/^[\w:/.-]+$/.test(value)) return value;
  const quoted = value.replaceAll("'", "'\\''");
  const escaped = value.replace(/['\\]/g, '\\$&');
  return value.search(hidden) < 0 ? `'${quoted}'` : `$'${escapeHidden(escaped)}'`;
}

/**
 * The characters that control a terminal: control characters, and characters that end a line or change the direction
 * of text.
 */
export const hidden = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Writes these characters as JSON and shells do. */
export function escapeHidden(text: string): string {
  return text.replaceAll(hidden, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
