/**
 * Notes about accepted requests: what is surely a mistake, although nothing that is known of the service says that it
 * refuses it.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { parseIsoTime } from '../testing/timestamps.js';

/** Finds mistakes in the body of an accepted request. */
export function findNotes(operation: OperationName | null, body: unknown, nowMs: number): readonly string[] {
  if (!isRecord(body) || (operation !== 'links.create' && operation !== 'links.update')) return [];
  const entries = Array.isArray(body.id_types) ? body.id_types.filter(isRecord) : [];
  const countries = [...new Set(entries.map(({ country }) => country))].filter(isNoCountry);
  const expiresAt = typeof body.expires_at === 'string' ? parseIsoTime(body.expires_at) : null;
  return [
    ...(countries.length > 0 ? [`"id_types" has codes of no country: ${countries.slice(0, 3).join(', ')}`] : []),
    ...(expiresAt !== null && expiresAt < nowMs
      ? ['"expires_at" is in the past, so the link has already expired']
      : []),
    ...(typeof body.user_id === 'string' && body.is_single_use !== true ? [otherUser] : []),
  ];
}

const otherUser =
  '"user_id" without "is_single_use": the results come under other user ids, one for each job; "link_id" names the link';

let names: Intl.DisplayNames | null = null;

/**
 * Whether two letters are not the usual code of a country. `UK` is not, because `GB` is. `ZZ` stands for no country. An
 * injected page hides that the service has refused a request, so its body may have anything else than two letters.
 */
function isNoCountry(code: unknown): boolean {
  if (typeof code !== 'string' || !/^[A-Z]{2}$/.test(code)) return false;
  names ??= new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });
  return code === 'ZZ' || new Intl.Locale(`und-${code}`).region !== code || names.of(code) === undefined;
}
