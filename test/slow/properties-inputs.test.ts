// Properties over generated input, seeded: any input of an operation.

import fc from 'fast-check';
import { type HostedClient, HostedError, HostedValidationError, type OperationName } from 'hosted-client';
import { expect, test } from 'vitest';
import { sentFields } from '../../src/links/fields.js';
import { clientOf, sign as macOf, newLink, operations, partnerId, type SentRequest } from '../support/fake-fetch.js';
import { runs } from './generated.js';

const anything = fc.anything({
  maxDepth: 2,
  maxKeys: 4,
  ...{ withBigInt: true, withBoxedValues: true, withDate: true, withMap: true, withNullPrototype: true, withSet: true },
  ...{ withSparseArray: true, withTypedArray: true, withObjectString: true, withUnicodeString: true },
});

/** Stands for a revoked proxy, which fast-check itself cannot look at. */
const revoked = 'a revoked proxy';
function aRevokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
const throwing = (name: string) =>
  Object.defineProperty({}, name, {
    enumerable: true,
    get: () => {
      throw new Error('planted');
    },
  });

const hostile = fc.constantFrom<unknown>(
  ...[
    undefined,
    null,
    Number.NaN,
    -0,
    '',
    ' ',
    '..',
    '../x',
    'list',
    '__proto__',
    'javascript:alert(1)',
    'https://a b',
  ],
  ...[
    Symbol('odd'),
    () => 'odd',
    new URL('https://partner.test/'),
    new URL('ftp://partner.test/'),
    new Date(Number.NaN),
  ],
  ...[new Date(0), new Date(8.64e15), '2026-02-30T00:00:00Z', '2026-02-03T00:00:00Z', 2 ** 31, 1.5, 10n],
  ...[{ partner_id: 'x' }, { signature: 'x' }, { toJSON: () => ({ timestamp: 'x' }) }, { toJSON: () => 5 }],
  ...[JSON.parse('{"__proto__": {"partner_id": "x"}}'), { 'x-odd': 'a\nb' }, { host: 'x' }, { 'x-odd': 'fine' }],
  ...[[{ country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' }], [{ country: 'N', idType: 5 }], [null]],
);
const oddMember = fc.oneof({ weight: 2, arbitrary: hostile }, { weight: 1, arbitrary: anything });

const goodMembers = {
  ...newLink,
  ...{ userId: 'user-1', jobId: 'job-1', refId: 'ref-1', isDisabled: true, page: 1 },
};
const optionNames = ['signal', 'timeoutMs', 'totalTimeoutMs', 'maxRetries', 'headers'] as const;

/** An input that is right but for some members, for the members that an operation has; or anything at all. */
const inputs = (...names: readonly string[]): fc.Arbitrary<unknown> => {
  const good = Object.fromEntries(Object.entries(goodMembers).filter(([name]) => names.includes(name)));
  const changes = fc.array(fc.tuple(fc.constantFrom(...names, 'surplus'), oddMember), { maxLength: 3 });
  return fc.oneof(
    { weight: 6, arbitrary: changes.map((list) => ({ ...good, ...Object.fromEntries(list) })) },
    { weight: 1, arbitrary: oddMember },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...names, 'then', 'toString').map((name) => ({ ...good, odd: throwing(name) })),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...names)
        .map((name) => Object.defineProperties({ ...good }, Object.getOwnPropertyDescriptors(throwing(name)))),
    },
    { weight: 1, arbitrary: fc.constant(revoked) },
  );
};
const callOptions = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...optionNames), oddMember, { maxKeys: 2 }) },
  { weight: 1, arbitrary: oddMember },
);

interface GivenInput {
  readonly arbitrary: fc.Arbitrary<unknown>;
  /** As a caller without types calls. */
  readonly call: (client: HostedClient, input: never, options: never) => PromiseLike<unknown>;
}

const givenInputs: Readonly<Record<OperationName, GivenInput>> = {
  'links.create': {
    arbitrary: inputs(...sentFields.map(({ name }) => name), 'extra'),
    call: (client, input, options) => client.links.create(input, options),
  },
  'links.update': {
    arbitrary: inputs('isDisabled', 'idTypes'),
    call: (client, input, options) => client.links.update('ref-1', input, options),
  },
  'links.get': {
    arbitrary: fc.oneof(fc.stringMatching(/^[A-Za-z0-9_-]{1,130}$/), oddMember),
    call: (client, input, options) => client.links.get(input, options),
  },
  'links.list': {
    arbitrary: inputs('page', 'prefetch', 'maxPages', 'signal', 'timeoutMs', 'headers'),
    call: (client, input) => client.links.list(input),
  },
  'jobs.status': {
    arbitrary: inputs('userId', 'jobId', 'imageLinks', 'history'),
    call: (client, input, options) => client.jobs.status(input, options),
  },
};

/** Whether a request is one of this client's: to its own address, signed, and about its own partner. */
function expectOwn({ url, body, init }: SentRequest): void {
  expect(url).toMatch(/^https:\/\/sandbox\.hosted\.test\/v1\/(?:hosted_links(?:\/[A-Za-z0-9_-]{1,128})?|job_status)$/);
  const { timestamp, partner_id, sec_key, signature = sec_key } = body;
  expect(partner_id).toBe(partnerId);
  expect(signature).toBe(macOf(String(timestamp)));
  expect(new Headers(init.headers).get('content-type')).toBe('application/json');
}

test.each(operations.map((operation) => ({ ...operation, ...givenInputs[operation.name] })))(
  'any input of $name gives a request, or a HostedValidationError and none',
  async ({ arbitrary, call, answer }) => {
    const ends = { sent: 0, refused: 0 };
    const property = fc.asyncProperty(arbitrary, callOptions, async (input, options) => {
      const { client, sent } = clientOf(answer(), { maxRetries: 0 });
      const given = input === revoked ? aRevokedProxy() : input;

      const [end] = await Promise.allSettled([(async () => await call(client, given as never, options as never))()]);

      if (sent.length === 0) {
        ends.refused += 1;
        expect(end.status).toBe('rejected');
        const reason = end.status === 'rejected' ? (end.reason as unknown) : null;
        expect(reason).toBeInstanceOf(HostedValidationError);
        expect((reason as HostedValidationError).issues.length).toBeGreaterThan(0);
        expect(String(reason)).not.toContain('planted');
        return;
      }
      ends.sent += 1;
      for (const request of sent) expectOwn(request);
      // The response may be about another link or job than the one asked for.
      if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(HostedError);
    });

    await fc.assert(property, runs(400));

    expect(Math.min(ends.sent, ends.refused)).toBeGreaterThan(20);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
  60_000,
);
