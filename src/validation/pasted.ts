/**
 * Finds what cannot be right in a value that was pasted into a configuration. A message shows no part of the value.
 *
 * @module
 */

// Control and format characters, blanks other than a space, and characters that are drawn as nothing. In some scripts and
// behind symbols, joiners and variation selectors are a part of words.
const invisible =
  /(?!(?<=\P{ASCII})(?:\u200c|\u200d|[\ufe00-\ufe0f]))[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** `<api-key>`, `${API_KEY}`, `$(API_KEY)` and `{{ api_key }}`, alone or as a part of a URL, and `YOUR_API_KEY`. */
const placeholder =
  /^(?:https?:\/\/[^\s<${]{0,200})?(?:<[\w .-]{1,60}>|\$\{\w{1,60}\}|\$\(\w{1,60}\)|\{\{ ?[\w.]{1,60} ?\}\})(?:[/.:?]|$)|^your[-_ ][\w -]{1,60}$/i;

/** What a program writes in place of a value that is not there, such as a variable that is not set. */
const nothing = /^(?:https?:\/\/)?(?:undefined|null|\[object \w{1,40}\])(?:[/:]|$)/;

const quoted = /^(["'`“‘„«]).*["'`”’“»]$/s;

/** Says what cannot be right in a key, an id or a URL; null if nothing is found. */
export function findPastedProblem(value: string): string | null {
  if (/[\r\n]/.test(value)) return 'must not contain a line end';
  if (invisible.test(value)) return 'must not contain invisible characters: type it, or copy it as plain text';
  if (placeholder.test(value)) return 'must not be a placeholder: put the value in its place';
  if (nothing.test(value)) return 'must not be the text of a value that is not there: set what it is made from';
  return null;
}

/** The same for an id or a URL, which cannot be in quotation marks. A key could be. */
export function findPastedProblemOfPlain(value: string): string | null {
  return findPastedProblem(value) ?? (quoted.test(value) ? 'must not be in quotation marks: remove them' : null);
}
