/** Quick checks: ordinary responses are accepted by them alone, and they accept nothing that a schema would refuse or change. */

import { isDeepStrictEqual } from 'node:util';
import type { HostedClient } from 'hosted-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { wireHistoryEntry, wireJobStatus } from '../../src/jobs/wire.js';
import { wireCreatedLink, wireLink, wireLinkPage, wireUpdatedLink } from '../../src/links/wire.js';
import { createRandom, type Random } from '../../src/testing/random.js';
import { isAcceptedAsIs } from '../../src/validation/quick-check.js';
import { list, oneOf, record } from '../../src/validation/structure.js';
import {
  acceptedLink,
  authenticatedCallback,
  biometricKycResult,
  createdLink,
  documentCallback,
  documentResult,
  enrolledCallback,
  finishedJob,
  finishedWithoutSuccess,
  jobWithActions,
  pendingMinimal,
  pendingWithDigest,
  selfieResult,
} from '../fixtures/real-payloads.js';
import {
  job,
  jobInSampleSpelling,
  jobInTableSpelling,
  linkInSampleSpelling,
  linkInTableSpelling,
  linkRefId,
} from '../fixtures/records.js';
import { clientOf, signed } from '../support/fake-fetch.js';

const { job_complete, job_success } = jobInTableSpelling;
const meta = { currentPage: 1, limit: 20, totalCount: 3, totalPages: 1 };
const updatedLink = { ...createdLink, id_types: linkInTableSpelling.id_types, disabled_at: null };

/** What the service sends, by the schema it must pass: ordinary payloads, each field table and real ones among them. */
const ordinary: ReadonlyMap<z.ZodMiniType, readonly object[]> = new Map<z.ZodMiniType, readonly object[]>([
  [wireCreatedLink, [createdLink, acceptedLink]],
  [wireUpdatedLink, [updatedLink, linkInTableSpelling]],
  [wireLink, [linkInTableSpelling, linkInSampleSpelling]],
  [wireLinkPage, [{ links: [linkInTableSpelling, linkInSampleSpelling], meta }]],
  [
    wireJobStatus,
    [
      jobInTableSpelling,
      jobInSampleSpelling,
      finishedJob,
      jobWithActions,
      finishedWithoutSuccess,
      pendingMinimal,
      pendingWithDigest,
    ],
  ],
  [
    wireHistoryEntry,
    [
      selfieResult,
      documentResult,
      biometricKycResult,
      authenticatedCallback,
      documentCallback,
      enrolledCallback,
      ...jobInTableSpelling.history,
    ],
  ],
]);

test('ordinary payloads pass the quick check of their schema', () => {
  for (const [schema, payloads] of ordinary) {
    for (const payload of payloads) expect(isAcceptedAsIs(schema, payload)).toBe(true);
  }
});

// In calls ------------------------------------------------------------------

interface Exchange {
  readonly what: string;
  readonly schema: z.ZodMiniType;
  readonly body: object;
  readonly call: (client: HostedClient, body: string) => Promise<unknown>;
}

const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.test/privacy',
  callbackUrl: 'https://partner.test/callback',
};
const exchanges: readonly Exchange[] = [
  {
    what: 'links.create()',
    schema: wireCreatedLink,
    body: createdLink,
    call: (client) => client.links.create(newLink),
  },
  {
    what: 'links.update()',
    schema: wireUpdatedLink,
    body: updatedLink,
    call: (client) => client.links.update(createdLink.ref_id, { idTypes: [] }),
  },
  {
    what: 'links.get()',
    schema: wireLink,
    body: linkInTableSpelling,
    call: (client) => client.links.get(linkRefId),
  },
  {
    what: 'links.list()',
    schema: wireLinkPage,
    body: { links: [linkInTableSpelling], meta },
    call: async (client) => client.links.list(),
  },
  {
    what: 'jobs.status()',
    schema: wireJobStatus,
    body: signed({ ...finishedWithoutSuccess, job_complete, job_success, job_id: job.jobId }),
    call: (client) => client.jobs.status(job),
  },
  {
    what: 'callbacks.receive()',
    schema: wireHistoryEntry,
    body: signed(documentCallback),
    call: (client, body) => client.callbacks.receive(body),
  },
];

/** How often a schema ran in a call that was answered with this body. */
async function runsIn({ schema, call }: Exchange, body: string): Promise<number> {
  const run = vi.spyOn(schema._zod, 'run');
  onTestFinished(() => run.mockRestore());
  await call(clientOf(new Response(body)).client, body);
  return run.mock.calls.length;
}

test.each(exchanges)('$what does not run the schema of an ordinary payload', async (exchange) => {
  expect(await runsIn(exchange, JSON.stringify(exchange.body))).toBe(0);
});

test.each(exchanges)('$what runs the schema of a payload that it would change', async (exchange) => {
  const body = JSON.stringify(exchange.body).replace(/^\{/, '{"__proto__":{},');
  const inLink = exchange.schema === wireLinkPage ? body.replace('"links":[{', '"links":[{"__proto__":{},') : body;

  expect(await runsIn(exchange, inLink)).toBe(1);
});

// Kinds of schemas ----------------------------------------------------------

const text = z.string();
const ofZod = z.looseObject({ a: z.nullish(text), b: z.optional(z.number()) });
const own = record({ a: z.nullish(text), b: z.optional(z.number()) });

test.each<[string, z.ZodMiniType, readonly unknown[], readonly unknown[]]>([
  ['string', text, ['', 'x'], [null, 5, true, [], {}]],
  ['boolean', z.boolean(), [true, false], ['true', 0, null]],
  ['number', z.number(), [0, -1.5, 1e21], [Number.POSITIVE_INFINITY, '1', null, true]],
  ['unknown', z.unknown(), ['', 0, false, null, [], {}], []],
  ['nullish', z.nullish(text), [null, undefined, 'x'], [5]],
  ['refined', z.number().check(z.refine(Number.isSafeInteger)), [1], [1.5, '1']],
  ['expression', z.string().check(z.regex(/^a/)), ['ab'], ['b', 5]],
  ['custom', z.custom((value) => value === 1), [1], [2, null]],
  ['list', z.array(text), [[], ['a', 'b']], [['a', 1], {}, 'a', null]],
  ['record', ofZod, [{}, { a: null, b: 1, c: [] }], [{ a: 1 }, { b: 'x' }, [], null, 'x']],
  ['record of one\u2019s own', own, [{}, { a: null, b: 1, c: [] }], [{ a: 1 }, { b: 'x' }, [], null, 'x']],
  ['list of one\u2019s own', list(text, { max: 2 }), [[], ['a', 'b']], [['a', 1], ['a', 'b', 'c'], {}, null]],
  [
    'forms of one\u2019s own',
    oneOf({ string: text, record: own }, 'no'),
    ['x', {}, { a: 'x' }],
    [[], 5, null, { a: 1 }],
  ],
  ['record without others', z.strictObject({ a: text }), [{ a: 'x' }], [{}, { a: 'x', b: 1 }]],
  ['record that drops others', z.object({ a: text }), [{ a: 'x' }], [{ a: 'x', b: 1 }]],
  ['record with a field that must be there', z.looseObject({ a: z.unknown() }), [{ a: null }], [{}]],
  ['forms', z.union([text, z.number(), z.array(text)]), ['x', 1, ['x']], [true, null, [1]]],
  ['record that is refined', z.looseObject({}).check(z.refine((value) => 'a' in value)), [{ a: 1 }], [{}]],
])('a quick check is derived from a schema: %s', (_, schema, accepted, refused) => {
  for (const value of accepted) {
    expect(isAcceptedAsIs(schema, value)).toBe(true);
    expect(z.safeParse(schema, value)).toEqual({ success: true, data: value });
  }
  for (const value of refused) expect(isAcceptedAsIs(schema, value)).toBe(false);
});

/** Values by which a quick check could be led astray: JSON, and what JSON holds nothing of. */
const values: readonly unknown[] = [
  ...[undefined, null, true, false, 0, -0, 1, 3, -1, 1.5, 2 ** 53, 1e21, Number.NaN, Number.POSITIVE_INFINITY],
  ...[
    '',
    'a',
    ' a ',
    'A',
    'aa',
    '0',
    '3',
    'true',
    '__proto__',
    '\u{1f600}',
    'a@b.test',
    'https://a.test/../b',
    '4111111111111112',
  ],
  ...[[], [null], ['a'], ['a', 1], [[]], [{}], ['a', 'a'], [{ a: 'a' }, { a: 1 }]],
  ...[
    {},
    { a: 'a' },
    { a: null },
    { a: undefined },
    { a: 1, b: 1 },
    { b: 'x' },
    { a: { a: { a: 'a' } } },
    { a: ['a'] },
  ],
  ...[{ kind: 'a', a: 'a' }, { kind: 'b', b: 1 }, { kind: 'b', a: 'a' }, { constructor: 'a' }, { toString: 'a' }],
  ...['{"__proto__":1}', '{"__proto__":{"a":"a"},"a":"a"}', '{"a":{"__proto__":null}}', '[{"__proto__":"a"}]'].map(
    (json) => JSON.parse(json) as unknown,
  ),
];

type Recursive = z.ZodMiniType<unknown>;
const lazy: Recursive = z.looseObject({ a: z.optional(z.lazy(() => lazy)) });
const recursive: Recursive = z.looseObject({
  get a() {
    return z.optional(z.union([text, recursive]));
  },
});
const whenSkipped = { error: 'refused', when: () => false };

/** Schemas that change what they accept, whose forms compete, or that zod describes alike though they differ. */
const awkward: Readonly<Record<string, z.ZodMiniType>> = {
  email: z.email(),
  url: z.url(),
  integer: z.int(),
  'credit card': z.creditCard(),
  'coerced string': z.coerce.string(),
  'coerced number': z.coerce.number(),
  'coerced boolean': z.coerce.boolean(),
  trimmed: z.string().check(z.trim()),
  'small letters': z.string().check(z.toLowerCase()),
  default: z._default(text, 'a'),
  'default in optional': z.optional(z._default(text, 'a')),
  prefault: z.prefault(text, 'a'),
  catch: z.catch(text, 'a'),
  pipe: z.pipe(
    text,
    z.transform((value) => value.length),
  ),
  transform: z.transform((value) => ({ value })),
  lazy,
  recursive,
  'one form alone': z.xor([text, z.string().check(z.regex(/^a/))]),
  discriminated: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('a'), a: text }),
    z.looseObject({ kind: z.literal('b') }),
  ]),
  'exactly optional': z.looseObject({ a: z.exactOptional(text) }),
  'fields with defaults': z.looseObject({ a: z._default(text, 'a'), b: z.optional(z._default(text, 'a')) }),
  record: z.record(text, z.unknown()),
  'record of strings': z.record(text, text),
  date: z.date(),
  map: z.map(text, text),
  set: z.set(text),
  literal: z.literal(['a', 1]),
  enum: z.enum(['a', 'aa']),
  tuple: z.tuple([text]),
  intersection: z.intersection(z.object({ a: text }), z.object({ b: z.number() })),
  readonly: z.readonly(z.looseObject({ a: text })),
  nonoptional: z.nonoptional(z.optional(text)),
  null: z.null(),
  undefined: z.undefined(),
  'undefined in a record': z.looseObject({ a: z.undefined() }),
  any: z.any(),
  never: z.never(),
  'other fields of one kind': z.catchall(z.object({ a: z.unknown() }), z.number()),
  'other fields that are changed': z.catchall(z.object({}), z.pipe(z.unknown(), z.transform(String))),
  'form that drops before one that keeps': z.union([z.object({ a: text }), z.looseObject({ a: text, b: z.number() })]),
  'form that trims before one that does not': z.union([z.string().check(z.trim()), text]),
  'form that is not known before one that is': z.union([z.pipe(text, z.transform(Number)), text]),
  'form that is not known in a list': z.array(z.union([z.coerce.string(), z.number()])),
  'list of records that drop': z.array(z.object({ a: text })),
  'nullable record before a string': z.union([z.nullable(z.object({})), text]),
  'async check': z.string().check(z.refine(async () => true)),
  'check that is nearly true': z.string().check(z.refine((value) => value.length)),
  'check of a context': z
    .string()
    .check(z.superRefine((value, context) => void (value === 'a' || context.addIssue('refused')))),
  'check that is skipped': z.unknown().check(z.refine(() => false, whenSkipped)),
  'check of an optional': z.looseObject({ a: z.optional(text).check(z.refine((value) => value === 'a')) }),
  'expression that remembers': z.string().check(z.regex(/a/g)),
  'expression that sticks': z.string().check(z.regex(/a/y)),
  'length in code points': z.string().check(z.minLength(2)),
  'length of a list': z.array(z.unknown()).check(z.maxLength(1)),
  'names of inherited properties': z.looseObject({ constructor: z.unknown() }),
  'names of inherited methods': z.looseObject({ toString: z.optional(text) }),
  'name of the prototype': z.looseObject({ ['__proto__']: z.optional(z.unknown()) }),
  'fields of any value': z.looseObject({ a: z.unknown(), b: z.optional(z.unknown()) }),
};

/** A value without the properties that are undefined: schemas of records add one for each field that is missing. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const copy = Object.create(Object.getPrototypeOf(value));
  for (const [name, inner] of kept) {
    Object.defineProperty(copy, name, {
      value: withoutAbsent(inner),
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return copy;
}

/** Whether a schema accepts a value and gives back the same. */
function isUnchanged(schema: z.ZodMiniType, value: unknown): boolean {
  try {
    const parsed = z.safeParse(schema, value);
    return parsed.success && isDeepStrictEqual(withoutAbsent(parsed.data), withoutAbsent(value));
  } catch {
    return false;
  }
}

test.each(Object.entries(awkward))(
  'a quick check accepts nothing that its schema refuses or changes: %s',
  (_, schema) => {
    // As a field and as an entry, too.
    const shapes = [schema, z.array(schema), z.looseObject({ a: schema }), z.object({ a: z.nullish(schema) })];
    for (const shape of [...shapes, z.union([text, schema, z.unknown()])]) {
      for (const value of [...values, ...values.map((inner) => [inner]), ...values.map((inner) => ({ a: inner }))]) {
        if (isAcceptedAsIs(shape, value)) expect(isUnchanged(shape, value), JSON.stringify(value)).toBe(true);
      }
    }
  },
);

// Any payload ---------------------------------------------------------------

type Some<T> = [T, ...T[]];

const odd = [
  ...['null', 'true', 'false', '"true"', '"FALSE"', '"yes"', '""', '"3"', '"3.0"', '"-1"', '"2302"', '"085"', '"x"'],
  ...['0', '3', '-0', '-1', '1.5', '9007199254740991', '9007199254740992', '1e21', '1e999', '"\\ud800"', '"__proto__"'],
  ...['[]', '{}', '[null]', '[[]]', '[{}]', '[1,"u1"]', '{"a":1}', '{"length":0}', '{"0":"x"}'],
  ...['{"__proto__":null}', '{"__proto__":{"user_id":"x"}}', '[{"__proto__":1}]', '{"constructor":{"prototype":1}}'],
] as Some<string>;
const oddNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '0', ''] as const;

/** Changes a payload in one place: another value, or one field or entry more or less. */
function disturb(holder: Record<string, unknown>, random: Random): void {
  const extra = Array.isArray(holder) ? String(holder.length) : random.pick(oddNames);
  const name = random.pick([extra, ...Object.keys(holder)]);
  const inner = Object.hasOwn(holder, name) ? holder[name] : null;
  if (typeof inner === 'object' && inner !== null && random.pick([true, true, false])) {
    disturb(inner as Record<string, unknown>, random);
  } else if (random.pick([true, false, false, false])) {
    if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else delete holder[name];
  } else {
    const value: unknown = JSON.parse(random.pick(odd));
    // An assignment to `__proto__` would make it the prototype.
    Object.defineProperty(holder, name, { value, configurable: true, enumerable: true, writable: true });
  }
}

test('of 100,000 payloads, the quick checks accept none that the schemas refuse or change', () => {
  const random = createRandom(1, 'payloads');
  const sources = [...ordinary].flatMap(([schema, payloads]) =>
    payloads.map((payload) => ({ schema, json: JSON.stringify(payload) })),
  );
  const found = { quick: 0, slow: 0, refused: 0 };

  for (let count = 0; count < 100_000; count++) {
    const { schema, json } = random.pick(sources as Some<(typeof sources)[number]>);
    const payload = JSON.parse(json) as Record<string, unknown>;
    for (let times = random.pick([1, 1, 2, 3, 5]); times > 0; times--) disturb(payload, random);

    const isQuick = isAcceptedAsIs(schema, payload);

    const parsed = z.safeParse(schema, payload);
    if (isQuick && !isUnchanged(schema, payload)) expect.fail(`accepted ${JSON.stringify(payload)}`);
    found[isQuick ? 'quick' : parsed.success ? 'slow' : 'refused'] += 1;
  }

  // All three happen often: else this would say nothing.
  expect(Math.min(...Object.values(found)), JSON.stringify(found)).toBeGreaterThan(3_000);
}, 60_000);

test.each<[string, z.ZodMiniType, unknown, boolean]>([
  ['each of several checks counts', z.string().check(z.regex(/a/), z.regex(/b/)), 'a', false],
  ['each of several checks counts', z.string().check(z.regex(/a/), z.regex(/b/)), 'ab', true],
  [
    'a check that is not known spoils its own field alone',
    z.looseObject({ a: text, b: z.optional(z.string().check(z.minLength(2))) }),
    { a: 'a' },
    true,
  ],
  ['forms of a form that changes nothing', z.union([z.union([text, z.number()]), z.boolean()]), true, true],
])('a quick check knows more than single types: %s', (_what, schema, value, accepted) => {
  expect(isAcceptedAsIs(schema, value)).toBe(accepted);
});
