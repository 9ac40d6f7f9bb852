/** Proves that a variant does all the work that it claims, so that no figure is low because work is missing. */

import { isDeepStrictEqual } from 'node:util';
import type { Variant } from '../variants/variant.ts';
import { expectedPage, expectedStatus } from './expected.ts';
import { createPages, jobStatus, paths, signatureOf } from './fixtures.ts';
import type { Target } from './target.ts';

/** A kind of response. */
export interface Kind {
  readonly path: string;
  /** Writes the response that the service sends if it is in memory. */
  write(): string | Uint8Array;
  /** Writes the same response, signed with a wrong key. */
  forge(): string;
  /** Returns the value that a variant must decode from a response. */
  decode(response: string): object;
}

const pages = { whole: createPages({ totalPages: 1 }), ascii: createPages({ totalPages: 1, ascii: true }) };

export const kinds = {
  status: {
    path: paths.status,
    write: () => jobStatus(),
    forge: () => jobStatus('another key'),
    decode: (response) => expectedStatus((JSON.parse(response) as { timestamp: string }).timestamp),
  },
  list: pageKind({ ascii: false }),
  'ascii-list': pageKind({ ascii: true }),
} satisfies Record<string, Kind>;

function pageKind({ ascii }: { ascii: boolean }): Kind {
  const write = ascii ? pages.ascii : pages.whole;
  return {
    path: paths.list,
    write: () => write(1),
    // A page may come without a signature, but if it has one, the client verifies it.
    forge: () => {
      const timestamp = new Date(Date.now() - 1_000).toISOString();
      const page = JSON.parse(Buffer.from(write(1)).toString()) as object;
      return JSON.stringify({ ...page, timestamp, signature: signatureOf(timestamp, 'another key') });
    },
    decode: () => expectedPage({ page: 1, totalPages: 1, ascii }),
  };
}

/**
 * Makes one call, and asserts that it returns the whole response. If the variant claims to sign, verify and decode,
 * three more assertions follow: the request is signed, the value is decoded, and a forged response is rejected.
 */
export async function proveCall(
  { variant, call, kind, target }: { variant: Variant; call: () => Promise<unknown>; kind: Kind; target: Target },
  response: string,
): Promise<void> {
  target.sent.length = 0;
  assertValue(await call(), { response, kind, variant });
  if (!variant.isWhole) return;
  assertSigned(target.sent, 1);
  target.respondWith(kind.forge());
  await assertRejected(call);
}

/** Asserts that a call returned the whole response, decoded if the variant decodes. */
export function assertValue(
  value: unknown,
  { response, kind, variant }: { response: string; kind: Kind; variant: Variant },
): void {
  const expected = variant.isWhole ? kind.decode(response) : JSON.parse(response);
  // Methods of a page are not data. Some packages add properties that JSON does not have; JSON.stringify drops them.
  const actual = variant.isWhole ? pickData(value, Object.keys(expected)) : JSON.parse(JSON.stringify(value));
  if (!isDeepStrictEqual(actual, expected)) throw new Error('The value is not the one expected');
}

/** Asserts that these are all links of a page, decoded if the variant decodes. */
export function assertLinks(links: readonly unknown[], { page, variant }: { page: number; variant: Variant }): void {
  const wire = JSON.parse(Buffer.from(pages.whole(page)).toString()) as { links: readonly unknown[] };
  const expected = variant.isWhole ? expectedPage({ page, totalPages: page }).links : wire.links;
  if (!isDeepStrictEqual(links, expected)) throw new Error(`The links of page ${page} are not the ones expected`);
}

/** Asserts that `count` requests were sent, and that each one is signed. */
export function assertSigned(bodies: readonly string[], count: number): void {
  if (bodies.length !== count) throw new Error(`${bodies.length} requests were sent, and not ${count}`);
  for (const body of bodies) {
    const { timestamp, sec_key, signature = sec_key } = JSON.parse(body) as Record<string, unknown>;
    if (typeof timestamp !== 'string' || signature !== signatureOf(timestamp)) {
      throw new Error('A request is not signed');
    }
  }
}

async function assertRejected(call: () => Promise<unknown>): Promise<void> {
  const rejection = await call().then(
    () => null,
    (error: { code?: unknown }) => error,
  );
  if (rejection === null) throw new Error('A forged response was accepted');
  if (rejection.code !== 'signature') throw rejection;
}

function pickData(value: unknown, names: readonly string[]): object {
  const own = Object.keys(value as object).filter(
    (name) => typeof (value as Record<string, unknown>)[name] !== 'function',
  );
  if (own.length !== names.length) throw new Error('The value has other properties than expected');
  return Object.fromEntries(names.map((name) => [name, (value as Record<string, unknown>)[name]]));
}
