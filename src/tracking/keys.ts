/**
 * Creates the keys of jobs, ends and links.
 *
 * @module
 */

import { sha256Hex } from '../runtime/sha256.js';

/** What a key is made from. The version of an end is null if the job has expired. */
export type KeyOf =
  | readonly ['job', userId: string, jobId: string]
  | readonly ['end', userId: string, jobId: string, revision: number, version: string | null]
  | readonly ['link', refId: string]
  | readonly ['unheard', refId: string, missing: string];

/** Whose jobs they are: of two partners, the same ids can name two jobs. */
export interface Owner {
  readonly environment: string;
  readonly partnerId: string;
}

/**
 * Creates a UUID of version 8. RFC 9562 §5.8 leaves the content of this version to the implementer. This UUID contains
 * the first bits of a SHA-256 of the environment, the partner and the ids. The same ids give the same UUID in every process, for
 * ever.
 */
export async function createKey({ environment, partnerId }: Owner, parts: KeyOf): Promise<string> {
  const hex = await sha256Hex(JSON.stringify(['hosted-client/tracking', environment, partnerId, ...parts]));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Says whether a value has the form of a key. */
export function isKey(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
