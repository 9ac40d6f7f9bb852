/**
 * Notes about accepted requests: what the service may refuse, although nothing that is known of it says so.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { parseIsoTime } from '../testing/timestamps.js';

/** The ID types that samples of the service show. The empty string means "others" (§2.1 of docs/protocol.md). */
const knownIdTypes = ['BVN', 'DRIVERS_LICENSE', 'PASSPORT'];

/** How many codes a note names. */
const maxNamed = 3;

/** Finds what looks like a mistake in the body of an accepted request. */
export function findNotes(operation: OperationName | null, body: unknown, nowMs: number): readonly string[] {
  if (!isRecord(body) || (operation !== 'links.create' && operation !== 'links.update')) return [];
  const entries = Array.isArray(body.id_types) ? body.id_types.filter(isRecord) : [];
  const codesOf = (field: string) => [...new Set(entries.map((entry) => String(entry[field])))];
  const countries = codesOf('country').filter((code) => !isCountry(code));
  const idTypes = codesOf('id_type').filter((code) => code !== '' && !knownIdTypes.includes(code));
  const expiresAt = typeof body.expires_at === 'string' ? parseIsoTime(body.expires_at) : null;
  return [
    ...(countries.length > 0 ? [`"id_types" has countries ${unheardOf}: ${listCodes(countries)}`] : []),
    ...(idTypes.length > 0
      ? [`"id_types" has ID types ${unheardOf}: ${listCodes(idTypes)}; see the documents of the service`]
      : []),
    ...(expiresAt !== null && expiresAt < nowMs
      ? ['"expires_at" is in the past, so the link has already expired']
      : []),
    ...(typeof body.user_id === 'string' && body.is_single_use !== true ? [otherUser] : []),
  ];
}

const otherUser =
  '"user_id" without "is_single_use": the results come under other user ids, one for each job; "link_id" names the link';

const unheardOf = 'that the sandbox has not heard of';

let names: Intl.DisplayNames | null = null;

/** Whether a code is the usual code of a country. `UK`, which stands for `GB`, is not. `ZZ` stands for no country. */
function isCountry(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || code === 'ZZ' || new Intl.Locale(`und-${code}`).region !== code) return false;
  names ??= new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });
  return names.of(code) !== undefined;
}

// A text that does not look like a code may be data of a person, so it is not shown.
function listCodes(codes: readonly string[]): string {
  const named = codes
    .slice(0, maxNamed)
    .map((code) => (/^[A-Za-z_]{1,40}$/.test(code) ? `"${code}"` : '(another text)'));
  const more = codes.length - named.length;
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
