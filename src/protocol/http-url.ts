/**
 * Validates absolute http(s) URLs.
 *
 * @module
 */

/**
 * The form of most URLs. Every parser accepts a URL of this form. A page of links has hundreds of URLs, and this
 * expression is ten times faster than the parser. It does not match hosts that are numbers or punycode: the parser
 * decides about these.
 */
const plainUrl = /^https?:\/\/(?:[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:\/[\w./~%&=+?:,;@!$'()*-]*)?$/;

/**
 * The longest URL for which the expression is used. The expression would overflow the stack on a string of megabytes.
 */
const longestPlainUrl = 2_048;

/** Returns a URL on the wire unchanged; null for anything that is not an absolute http(s) URL. */
export function toUrl(wire: unknown): string | null {
  return typeof wire === 'string' && isHttpUrl(wire) ? wire : null;
}

/** Whether a value is an absolute http(s) URL. */
export function isHttpUrl(value: unknown): value is string | URL {
  if (typeof value !== 'string') {
    return value instanceof URL && (value.protocol === 'https:' || value.protocol === 'http:');
  }
  if (value.length <= longestPlainUrl && plainUrl.test(value)) return true;
  // The platform's parser ignores some blanks and line ends. A URL with any of them is rejected, because other parsers
  // may read it differently.
  return /^https?:\/\//i.test(value) && !/[\s\p{Cc}]/u.test(value) && URL.canParse(value);
}
