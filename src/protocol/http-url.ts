/**
 * What counts as an address that may be given to somebody.
 *
 * @module
 */

/**
 * What most URLs look like, and what any parser takes: a page of links has hundreds of them, and a
 * regular expression answers in a tenth of the time. Numbers for hosts and punycode are left to the
 * parser.
 */
const plainUrl = /^https?:\/\/(?:[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:\/[\w./~%&=+?:,;@!$'()*-]*)?$/;

/** Longer URLs are left to the parser too: of one of megabytes the engine runs out of stack for the expression. */
const longestPlainUrl = 2_048;

/** Whether a value is an absolute http(s) URL. */
export function isHttpUrl(value: unknown): value is string | URL {
  if (value instanceof URL) return hasHttpScheme(value);
  if (typeof value === 'string' && value.length <= longestPlainUrl && plainUrl.test(value)) return true;
  // The platform's parser forgives blanks and line ends that whoever reads the text next may not.
  if (typeof value !== 'string' || !/^https?:\/\//i.test(value) || /[\s\p{Cc}]/u.test(value)) return false;
  const url = URL.parse(value);
  return url !== null && hasHttpScheme(url);
}

function hasHttpScheme({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}
