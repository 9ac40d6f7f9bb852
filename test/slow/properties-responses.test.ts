// Properties over generated input, seeded: responses of any bytes.

import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { HostedError, type OperationName } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, operations, signed } from '../support/fake-fetch.js';
import { runs } from './generated.js';

const oddNames = fc.constantFrom(
  'PROTO',
  'constructor',
  'then',
  'toJSON',
  'error',
  'code',
  'message',
  'result',
  'links',
);
const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.dictionary(oddNames, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
  fc.constantFrom(null, '', 0, -1, 1e21, '2304', 2301, 'true', [], {}, [[]], [null], 'Not Available'),
);

/** Every place in a value, as the holder and the name there. */
function placesIn(value: unknown): readonly (readonly [Record<string, unknown>, string])[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((name) => [[holder, name] as const, ...placesIn(holder[name])]);
}

/** Puts other values in some places of a record, and other names beside them. */
function altered(record: object, changes: readonly (readonly [number, string | null, unknown])[]): object {
  const copy = structuredClone(record);
  for (const [number, name, value] of changes) {
    const places = placesIn(copy);
    const [holder, there] = places[number % places.length] ?? [copy as Record<string, unknown>, 'nothing'];
    // A copy, so that no value holds itself.
    holder[name ?? there] = structuredClone(value);
  }
  return copy;
}

const fullLink = {
  ...{
    link: 'https://links.hosted.test/1',
    link_url: 'https://links.hosted.test/1',
    ref_id: 'ref-1',
    link_id: 'ref-1',
  },
  ...{ name: 'Onboarding', is_single_use: 'TRUE', callback_url: 'https://partner.test/callback', user_ids: ['user-1'] },
  ...{ total_jobs: '3', created_at: '2026-01-01T08:00:00Z', disabled_at: null, partner_id: '085' },
  id_types: [{ country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' }],
};
const fullResult = {
  ...{
    ResultCode: '0810',
    ResultText: 'Enroll User',
    IsFinalResult: 'true',
    ConfidenceValue: '99.9',
    FullName: 'Test',
  },
  PartnerParams: { user_id: 'user-1', job_id: 'job-1', job_type: 4 },
  Actions: { Liveness_Check: 'Passed' },
};
const fullAnswers: Readonly<Record<OperationName, object>> = {
  'links.create': fullLink,
  'links.update': fullLink,
  'links.get': fullLink,
  'links.list': { links: [fullLink, fullLink], meta: { currentPage: 1, limit: 20, totalCount: 2, totalPages: 1 } },
  'jobs.status': {
    ...{
      user_id: 'user-1',
      job_id: 'job-1',
      job_complete: true,
      job_success: 'true',
      code: '2302',
      result: fullResult,
    },
    ...{ history: [fullResult], image_links: { selfie_image: 'https://images.hosted.test/1?X-Amz-Expires=60' } },
  },
};

const changeLists = fc.array(fc.tuple(fc.nat(), fc.option(oddNames), oddValues), { minLength: 1, maxLength: 3 });

/** Bytes: of nothing in particular, of JSON, of a good answer with something changed in it, signed before or after. */
const answerBytes = (operation: OperationName): fc.Arbitrary<Uint8Array<ArrayBuffer>> => {
  const bytesOf = (value: unknown) =>
    Uint8Array.from(Buffer.from((JSON.stringify(value) ?? '').replaceAll('"PROTO"', '"__proto__"')));
  const answer = fullAnswers[operation];
  return fc.oneof(
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)) },
    { weight: 1, arbitrary: oddValues.map(bytesOf) },
    { weight: 4, arbitrary: changeLists.map((changes) => bytesOf(signed(altered(answer, changes)))) },
    { weight: 2, arbitrary: changeLists.map((changes) => bytesOf(altered(signed(answer), changes))) },
    {
      weight: 2,
      arbitrary: fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 3 }).map((spots) => {
        const bytes = bytesOf(signed(answer));
        for (const [at, byte] of spots) bytes[at % bytes.length] = byte;
        return bytes;
      }),
    },
    { weight: 1, arbitrary: fc.nat({ max: 400 }).map((length) => bytesOf(signed(answer)).slice(0, length)) },
    {
      weight: 1,
      arbitrary: fc.nat({ max: 200 }).map((depth) => bytesOf(JSON.parse('['.repeat(depth) + ']'.repeat(depth) || '0'))),
    },
  );
};

const answerHeaders = fc.dictionary(
  fc.constantFrom('content-type', 'retry-after', 'date', 'age', 'x-request-id', 'content-length', 'content-encoding'),
  fc.oneof(
    fc.stringMatching(/^[ -~]{0,20}$/),
    fc.constantFrom(
      'application/json',
      'text/html',
      '99999999999',
      '-1',
      'NaN',
      'Thu, 01 Jan 1970 00:00:00 GMT',
      'gzip',
    ),
  ),
  { maxKeys: 3 },
);
const statuses = fc.oneof(
  { weight: 4, arbitrary: fc.constant(200) },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 599 }) },
);

/** A body in pieces that breaks off where it is told to. */
function inPieces(bytes: Uint8Array, { size, breaksAt }: { size: number; breaksAt: number | null }): ReadableStream {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (breaksAt !== null && at >= breaksAt) return controller.error(new TypeError('terminated'));
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
  });
}

test.each(operations)(
  'any bytes as a response to $name give a value or a HostedError, and nothing else comes of them',
  async ({ name, call }) => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    const values = { given: 0, refused: 0 };
    const pieces = fc.record({
      size: fc.integer({ min: 1, max: 200 }),
      breaksAt: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 99 }) }),
    });
    const property = fc.asyncProperty(
      ...([answerBytes(name), statuses, answerHeaders, pieces, fc.boolean()] as const),
      async (bytes, status, headers, piece, iterates) => {
        const bodiless = [204, 205, 304].includes(status);
        const { client } = clientOf(() => new Response(bodiless ? null : inPieces(bytes, piece), { status, headers }), {
          maxRetries: 0,
        });
        const run = async () => {
          if (name !== 'links.list' || !iterates) return await call(client);
          return await client.links.list({ prefetch: 2, maxPages: 5 }).toArray({ limit: 50 });
        };
        const [end] = await Promise.allSettled([run()]);
        if (end.status === 'fulfilled') {
          values.given += 1;
          expect(typeof end.value).toBe('object');
          return;
        }
        values.refused += 1;
        expect(end.reason).toBeInstanceOf(HostedError);
        expect(() => JSON.stringify(end.reason) + inspect(end.reason)).not.toThrow();
      },
    );

    await fc.assert(property, runs(400)).finally(async () => {
      await turn();
      process.off('unhandledRejection', note);
    });

    expect(unhandled).toEqual([]);
    expect(Object.keys(Object.prototype)).toEqual([]);
    // Both happen often: else this would say nothing.
    expect(Math.min(values.given, values.refused)).toBeGreaterThan(40);
  },
  60_000,
);
