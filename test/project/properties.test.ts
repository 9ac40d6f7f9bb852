// Properties over generated input, seeded: sequences of operations, spellings of records, bytes of answers, inputs, signatures.

import { createHash, createHmac, createPrivateKey, createPublicKey, verify } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';
import fc from 'fast-check';
import {
  ed25519,
  HostedClient,
  HostedError,
  HostedSignatureError,
  HostedValidationError,
  hmacSha256,
  type JobRef,
  type Link,
  type NewLink,
  type OperationName,
} from 'hosted-client';
import { createMockService, type MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import {
  clientOf,
  sign as macOf,
  now,
  operations,
  partnerId,
  rejection,
  type SentRequest,
  signed,
} from '../support/fake-fetch.js';

type Of<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never;

const runs = (numRuns: number) => ({ seed: 1, numRuns });

/** Text as people write it, of any script; with something in it. */
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '');
const httpUrls = fc.webUrl({ validSchemes: ['http', 'https'], withQueryParameters: true });
const verificationMethods = [
  'biometric_kyc',
  'doc_verification',
  'enhanced_document_verification',
  'enhanced_kyc',
] as const;

// Sequences of operations ---------------------------------------------------

type IdTypes = NonNullable<NewLink['idTypes']>;

/** Kinds of ID that may stand together, an exact duplicate and small letters among them. */
const idTypeLists: fc.Arbitrary<IdTypes> = fc
  .tuple(
    fc.uniqueArray(
      fc.record({
        country: fc.constantFrom('NG', 'KE', 'za'),
        idType: fc.constantFrom('BVN', 'PASSPORT', ''),
        verificationMethod: fc.constantFrom(...verificationMethods),
      }),
      { selector: ({ country, idType }) => `${country} ${idType}`, maxLength: 3 },
    ),
    fc.boolean(),
  )
  .map(([list, twice]) => (twice ? [...list, ...list.slice(0, 1)] : list));

/** As they come back: countries in capitals, each entry once. */
const asKept = (list: IdTypes) =>
  list
    .map((entry) => ({ ...entry, country: entry.country.toUpperCase() }))
    .filter((entry, index, all) => {
      const same = ({ country, idType }: (typeof all)[number]) => country === entry.country && idType === entry.idType;
      return all.findIndex(same) === index;
    });

const newLinks = fc.record(
  {
    companyName: words,
    dataPrivacyPolicyUrl: httpUrls,
    callbackUrl: fc.option(httpUrls),
    name: words,
    idTypes: idTypeLists,
    logoUrl: httpUrls,
    isSingleUse: fc.boolean(),
    userId: words,
    expiresAt: fc.date({ min: new Date('2026-02-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
  },
  { requiredKeys: ['companyName', 'dataPrivacyPolicyUrl', 'callbackUrl'] },
);

const passing: fc.Arbitrary<MockFault> = fc.constantFrom<MockFault>(
  { kind: 'network' },
  { kind: 'stall' },
  { kind: 'truncate' },
  { kind: 'status', status: 408 },
  { kind: 'status', status: 429, retryAfter: '7' },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 502, body: '<h1>Bad Gateway</h1>' },
  { kind: 'status', status: 503, retryAfter: '2' },
  { kind: 'status', status: 504, body: '' },
);
const lasting: fc.Arbitrary<MockFault> = fc.constantFrom<MockFault>(
  { kind: 'html' },
  { kind: 'bad-signature' },
  { kind: 'missing-signature' },
  { kind: 'stale-timestamp' },
  { kind: 'status', status: 204 },
  { kind: 'status', status: 302 },
  { kind: 'status', status: 400 },
  { kind: 'status', status: 401 },
  { kind: 'status', status: 403 },
  { kind: 'status', status: 422 },
);
const faultLists = fc.oneof(
  { weight: 3, arbitrary: fc.constant<readonly MockFault[]>([]) },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof({ weight: 4, arbitrary: passing }, { weight: 1, arbitrary: lasting }), {
      minLength: 1,
      maxLength: 3,
    }),
  },
);

const which = fc.nat({ max: 99 });
const whichOrNone = fc.option(which);
const pagesOrNone = fc.option(fc.nat({ max: 3 }));
const common = { faults: faultLists, passMs: fc.nat({ max: 2_000 }) };
type Common = { readonly [Name in keyof typeof common]: Of<(typeof common)[Name]> };

/** A step of a sequence; which link or job it is for is counted round among those that are known. */
function step<const Kind extends string, Members extends object>(
  kind: Kind,
  members: { readonly [Name in keyof Members]: fc.Arbitrary<Members[Name]> },
): fc.Arbitrary<Common & { readonly kind: Kind } & Members> {
  const own = fc.record(members) as unknown as fc.Arbitrary<Members>;
  return fc.tuple(fc.record(common), own).map(([shared, given]) => ({ ...shared, kind, ...given }));
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step('create', { link: newLinks }) },
    { weight: 2, arbitrary: step('update', { which, idTypes: idTypeLists, disables: fc.boolean() }) },
    { weight: 1, arbitrary: step('disable', { which }) },
    { weight: 2, arbitrary: step('get', { which }) },
    {
      weight: 2,
      arbitrary: step('list', {
        way: fc.constantFrom('links', 'pages', 'nextPage', 'toArray'),
        prefetch: fc.nat({ max: 3 }),
        skip: pagesOrNone,
      }),
    },
    { weight: 2, arbitrary: step('start', { which: whichOrNone }) },
    { weight: 1, arbitrary: step('report', { which }) },
    { weight: 2, arbitrary: step('complete', { which, success: fc.boolean() }) },
    { weight: 3, arbitrary: step('status', { which, imageLinks: fc.boolean(), history: fc.boolean() }) },
    { weight: 1, arbitrary: step('unknown', { which }) },
  ),
  { minLength: 4, maxLength: 24, size: 'max' },
);

type Step = Of<typeof steps>[number];

const setups = fc.record({
  environment: fc.constantFrom('sandbox', 'production'),
  spelling: fc.constantFrom('table', 'sample', 'random'),
  firstPage: fc.constantFrom(0, 1),
  tellsFirstPage: fc.boolean(),
  pageSize: fc.integer({ min: 1, max: 4 }),
  scheme: fc.oneof(
    { weight: 9, arbitrary: fc.constant('hmac-sha256') },
    { weight: 1, arbitrary: fc.constant('ed25519') },
  ),
  seed: fc.nat({ max: 1_000 }),
  maxRetries: fc.nat({ max: 3 }),
  seeded: fc.nat({ max: 9 }),
  wire: fc.record({
    brand: fc.constantFrom('hosted', 'acme'),
    listMarker: fc.constantFrom('list', 'all'),
    timestampFormat: fc.constantFrom('iso', 'epoch-ms', 'epoch-s'),
    jobTimestampFormat: fc.constantFrom('iso', 'epoch-ms', 'epoch-s'),
    jobSignatureMember: fc.constantFrom('sec_key', 'signature'),
    jobFlags: fc.constantFrom('boolean', 'string'),
    echoesTimestamp: fc.boolean(),
    namesJob: fc.boolean(),
  }),
});

type Setup = Of<typeof setups>;

/** A clock that moves only when told; back-off ends at once, and attempts run out of time when told. */
function toldClock() {
  const attempts = new Set<() => void>();
  const clock = {
    time: now,
    now: () => clock.time,
    sleep: (ms: number, signal?: AbortSignal) => {
      // No back-off is longer than a minute: what is longer is what is left of `totalTimeoutMs`.
      if (ms !== 30_000 && ms <= 60_000) return Promise.resolve();
      return new Promise<void>((resolve, reject) => {
        if (ms === 30_000) attempts.add(resolve);
        const onAbort = () => {
          attempts.delete(resolve);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    runOut: () => {
      for (const wake of attempts) wake();
      attempts.clear();
    },
  };
  return clock;
}

/** The service, and a client of it whose requests meet the faults that are waiting, one each, in order. */
function createWorld({ environment: name, tellsFirstPage, wire, maxRetries, seeded, ...options }: Setup) {
  const clock = toldClock();
  const told = { ...wire, ...(tellsFirstPage && { firstPage: options.firstPage }) };
  const service = createMockService({ ...options, clock, wire: told });
  const environment = service[name];
  const other = service[name === 'sandbox' ? 'production' : 'sandbox'];
  environment.links.seed(seeded);
  const under: { operation: OperationName; faults: MockFault[] } = { operation: 'links.get', faults: [] };

  async function pass(url: string, { signal, ...init }: RequestInit): Promise<Response> {
    signal?.throwIfAborted();
    const fault = under.faults.shift();
    if (fault) environment.failNext(under.operation, fault);
    if (fault?.kind !== 'stall') return service.fetch(url, init);
    const ending = new AbortController();
    const arrived = environment.requests.length;
    const answer = service.fetch(url, { ...init, signal: ending.signal });
    while (environment.requests.length === arrived) await turn();
    clock.runOut();
    await turn();
    ending.abort();
    return answer;
  }

  // One after another, so that a fault is met by the request it was ordered for.
  let busy: Promise<unknown> = Promise.resolve();
  const fetch = (url: unknown, init: RequestInit = {}) => {
    const answer = busy.then(() => pass(String(url), init));
    busy = answer.catch(() => undefined);
    return answer;
  };
  const client = new HostedClient({
    ...environment.clientOptions,
    fetch: fetch as typeof globalThis.fetch,
    maxRetries,
  });
  return { clock, environment, other, client, under };
}

/** What a fault does to one request: whether the service acts before, and the error that it is, if it is one. */
function effectOf(fault: MockFault, operation: OperationName): { acts: boolean; code: string | null; passes: boolean } {
  const before = (code: string, passes: boolean) => ({ acts: false, code, passes });
  const after = (code: string | null, passes: boolean) => ({ acts: true, code, passes });
  switch (fault.kind) {
    case 'network':
      return before('connection', true);
    case 'stall':
      return before('timeout', true);
    case 'truncate':
      return after('connection', true);
    case 'html':
      return after('response', false);
    case 'missing-signature':
      return after(operation === 'jobs.status' ? 'signature' : null, false);
    case 'bad-signature':
    case 'stale-timestamp':
      return after('signature', false);
    case 'status': {
      const { status } = fault;
      if (status < 400) return before('response', false);
      if (status === 429) return before('rate_limit', true);
      if (status === 408) return before('timeout', true);
      if (status >= 500) return before('server', true);
      return before(status === 401 || status === 403 ? 'authentication' : 'api', false);
    }
  }
}

/** What comes of one call under faults: which are tried again is the protocol's and the design's to say. */
function foresee(operation: OperationName, faults: readonly MockFault[], maxRetries: number) {
  let acted = 0;
  for (let attempts = 1; ; attempts++) {
    const fault = faults[attempts - 1];
    if (fault === undefined) return { code: null, attempts, acted: acted + 1 };
    const { acts, code, passes } = effectOf(fault, operation);
    if (acts) acted += 1;
    if (code === null) return { code, attempts, acted };
    const repeats = passes && (operation !== 'links.create' || code === 'rate_limit');
    if (!repeats || attempts > maxRetries) return { code, attempts, acted };
  }
}

interface KnownLink {
  readonly refId: string;
  readonly url: string;
  readonly given: Of<typeof newLinks>;
  readonly createdAt: number;
  idTypes: IdTypes;
  disabledAt: number | null;
}

interface KnownJob {
  readonly ref: JobRef;
  readonly linkRefId: string | null;
  readonly codes: string[];
  outcome: { code: string; success: boolean } | null;
}

/** Performs the steps one by one, against the service and against what is known, and compares. */
async function live(setup: Setup, course: readonly Step[]): Promise<void> {
  const { clock, environment, other, client, under } = createWorld(setup);
  const { maxRetries, pageSize } = setup;
  const links: KnownLink[] = [];
  const jobs: KnownJob[] = [];
  // Links that are there, and that nobody here has the id of.
  let ghosts = setup.seeded;

  const expectedLink = (link: KnownLink): Link => {
    const own = jobs.filter(({ linkRefId }) => linkRefId === link.refId);
    const { given } = link;
    return {
      url: link.url,
      linkId: link.refId,
      refId: link.refId,
      name: given.name ?? null,
      idTypes: link.idTypes,
      isSingleUse: given.isSingleUse ?? null,
      callbackUrl: given.callbackUrl,
      dataPrivacyPolicyUrl: given.dataPrivacyPolicyUrl,
      logoUrl: given.logoUrl ?? null,
      userIds: given.userId === undefined ? [expect.any(String)] : [given.userId],
      jobs: {
        total: own.length,
        failed: own.filter(({ outcome }) => outcome?.success === false).length,
        successful: own.filter(({ outcome }) => outcome?.success === true).length,
      },
      companyName: given.companyName,
      partnerId,
      createdAt: new Date(link.createdAt),
      updatedAt: expect.any(Date),
      expiresAt: given.expiresAt ?? null,
      disabledAt: link.disabledAt === null ? null : new Date(link.disabledAt),
      state: link.disabledAt === null ? 'active' : 'disabled',
      extra: {},
    };
  };

  /** Makes one call under faults; its end, its error and its attempts must be those that were foreseen. */
  async function call<T>(operation: OperationName, faults: readonly MockFault[], run: () => PromiseLike<T>) {
    const foreseen = foresee(operation, faults, maxRetries);
    const before = environment.requests.length;
    Object.assign(under, { operation, faults: [...faults] });
    const [end] = await Promise.allSettled([run()]);
    under.faults = [];
    const attempts = environment.requests.length - before;
    if (end.status === 'fulfilled') {
      expect({ code: null, attempts }).toEqual({ code: foreseen.code, attempts: foreseen.attempts });
      return { value: end.value, error: null, acted: foreseen.acted };
    }
    const error: unknown = end.reason;
    if (!(error instanceof HostedError)) throw error;
    expect({ code: error.code, attempts }).toEqual({ code: foreseen.code, attempts: foreseen.attempts });
    expect(error.attempts).toBe(attempts);
    return { value: null, error, acted: foreseen.acted };
  }

  const walk = async (way: string, prefetch: number, page: number | undefined): Promise<readonly Link[]> => {
    const options = { prefetch, ...(page !== undefined && { page }) };
    const list = client.links.list(options);
    const seen: Link[] = [];
    if (way === 'toArray') return list.toArray({ limit: Number.POSITIVE_INFINITY });
    if (way === 'links') for await (const link of list) seen.push(link);
    if (way === 'pages') for await (const { links: some } of list.pages()) seen.push(...some);
    if (way === 'nextPage')
      for (let at = await list; ; ) {
        seen.push(...at.links);
        const next = await at.nextPage();
        if (next === null) break;
        at = next;
      }
    return seen;
  };

  const expectListed = (listed: readonly Link[], skipped: number) => {
    const there = environment.links.all() as readonly { ref_id: string }[];
    expect(there).toHaveLength(links.length + ghosts);
    expect(listed.map(({ refId }) => refId)).toEqual(there.slice(skipped).map(({ ref_id }) => ref_id));
    for (const link of links) {
      const found = listed.filter(({ refId }) => refId === link.refId);
      const isSkipped = there.slice(0, skipped).some(({ ref_id }) => ref_id === link.refId);
      expect(found).toEqual(isSkipped ? [] : [expectedLink(link)]);
    }
  };

  async function perform(at: Step): Promise<void> {
    const { faults } = at;
    switch (at.kind) {
      case 'create': {
        const { value, error, acted } = await call('links.create', faults, () => client.links.create(at.link));
        expect(acted).toBeLessThanOrEqual(1);
        if (value !== null) {
          const idTypes = asKept(at.link.idTypes ?? []);
          links.push({ ...value, given: at.link, createdAt: clock.time, idTypes, disabledAt: null });
        } else {
          ghosts += acted;
          // An error that rules it out must be right: nobody looks for a link then.
          if (acted > 0) expect(['answered', 'unknown']).toContain(error?.outcome);
        }
        return;
      }
      case 'update':
      case 'disable': {
        const link = links[at.which % links.length];
        if (link === undefined) return;
        const idTypes = at.kind === 'update' ? at.idTypes : undefined;
        const disables = at.kind === 'disable' || at.disables;
        const changes = { ...(idTypes && { idTypes }), ...(disables && { isDisabled: true }) };
        const { value, acted } = await call('links.update', faults, () =>
          at.kind === 'disable' ? client.links.disable(link.refId) : client.links.update(link.refId, changes),
        );
        if (acted > 0) {
          if (idTypes) link.idTypes = asKept(idTypes);
          if (disables) link.disabledAt ??= clock.time;
        }
        if (value === null) return;
        const { url, refId, idTypes: kept, disabledAt, state } = expectedLink(link);
        expect(value).toEqual({ url, refId, idTypes: kept, disabledAt, state });
        return;
      }
      case 'get': {
        const link = links[at.which % links.length];
        if (link === undefined) return;
        const { value } = await call('links.get', faults, () => client.links.get(link.refId));
        if (value !== null) expect(value).toEqual(expectedLink(link));
        return;
      }
      case 'list': {
        const pages = Math.ceil((links.length + ghosts) / pageSize);
        const skipped = at.skip === null ? 0 : Math.min(at.skip, Math.max(0, pages - 1));
        const page = at.skip === null ? undefined : setup.firstPage + skipped;
        Object.assign(under, { operation: 'links.list', faults: [...faults] });
        const [end] = await Promise.allSettled([walk(at.way, at.prefetch, page)]);
        under.faults = [];
        if (end.status === 'fulfilled') return expectListed(end.value, skipped * pageSize);
        if (!(end.reason instanceof HostedError)) throw end.reason;
        const passes = faults.every((fault) => effectOf(fault, 'links.list').passes);
        expect(passes && faults.length <= maxRetries).toBe(false);
        return;
      }
      case 'start': {
        const link = at.which === null ? undefined : links[at.which % links.length];
        const ref = environment.jobs.start(link ? { linkRefId: link.refId } : {});
        jobs.push({ ref, linkRefId: link?.refId ?? null, codes: [], outcome: null });
        if (link?.given.isSingleUse && link.given.userId !== undefined) expect(ref.userId).toBe(link.given.userId);
        return;
      }
      case 'report': {
        const job = jobs[at.which % jobs.length];
        if (job === undefined) return;
        environment.jobs.report(job.ref, { resultCode: '0814', resultText: 'Provisional - Under Review' });
        job.codes.push('0814');
        return;
      }
      case 'complete': {
        const job = jobs[at.which % jobs.length];
        if (job === undefined) return;
        environment.jobs.complete(job.ref, at.success ? 'approved' : 'rejected');
        const code = at.success ? '0810' : '0811';
        job.outcome = { code, success: at.success };
        job.codes.push(code);
        return;
      }
      case 'status': {
        const job = jobs[at.which % jobs.length];
        if (job === undefined) return;
        const { imageLinks, history } = at;
        const query = { ...job.ref, imageLinks, history };
        const { value } = await call('jobs.status', faults, () => client.jobs.status(query));
        if (value === null) return;
        const { outcome } = job;
        expect(value).toMatchObject({
          ...job.ref,
          complete: outcome !== null,
          success: outcome?.success === true,
          state: outcome === null ? 'pending' : outcome.success ? 'succeeded' : 'failed',
          result:
            outcome === null
              ? null
              : {
                  resultCode: outcome.code,
                  isFinal: true,
                  confidence: 99,
                  partnerParams: { ...job.ref, jobType: '1' },
                },
          imageLinks: imageLinks ? { selfieImage: expect.any(String), expiresAt: expect.any(Date) } : null,
        });
        expect(value.history?.map(({ resultCode }) => resultCode) ?? null).toEqual(history ? job.codes : null);
        expect(value.history?.every((entry) => entry.partnerParams?.linkId === job.linkRefId) ?? true).toBe(true);
        return;
      }
      case 'unknown': {
        const refId = `unknown-${at.which}`;
        const ends = [
          client.links.get(refId),
          client.links.update(refId, { idTypes: [] }),
          client.jobs.status({ userId: refId, jobId: refId }),
        ];
        const codes = await Promise.all(ends.map((end) => rejection(end)));
        expect(codes.map((error) => (error as HostedError).code)).toEqual(['not_found', 'not_found', 'not_found']);
      }
    }
  }

  for (const at of course) {
    await perform(at);
    clock.time += at.passMs;
  }
  // However it went, in the end everything is there, each link once, and as it was left.
  const before = environment.requests.length;
  expectListed(await walk('links', 0, undefined), 0);
  const pages = Math.ceil((links.length + ghosts) / pageSize);
  expect(environment.requests.length - before).toBe(Math.max(1, pages));
  for (const link of links) expect(await client.links.get(link.refId)).toEqual(expectedLink(link));
  expect(other.links.all()).toEqual([]);
  expect(other.requests).toEqual([]);
}

test('any sequence of operations under any faults keeps what the service promises, in every spelling and page base', async () => {
  await fc.assert(fc.asyncProperty(setups, steps, live), runs(120));
}, 60_000);

// Spellings of one record ---------------------------------------------------

/** Picks among spellings; `undefined` leaves a member out. */
type Choose = <T>(...spellings: readonly [T, ...T[]]) => T;

const choosers: fc.Arbitrary<Choose> = fc
  .array(fc.nat({ max: 719 }), { minLength: 1, maxLength: 90, size: 'max' })
  .map((numbers) => {
    let turnOf = 0;
    return (...spellings) => spellings[(numbers[turnOf++ % numbers.length] ?? 0) % spellings.length] ?? spellings[0];
  });

/** Stands for a number that JSON writes in a way JavaScript would not: 3.0. */
const verbatim = (digits: string) => `\uE000${digits}`;
const render = (record: object) => JSON.stringify(record).replace(/"\uE000([\d.]+)"/g, '$1');

/** The same members in another order. */
function shuffled(record: object, choose: Choose): object {
  const left = Object.entries(record);
  const taken: [string, unknown][] = [];
  while (left.length > 0) taken.push(...left.splice(choose(0, 1, 2, 3, 5, 8, 13) % left.length, 1));
  return Object.fromEntries(taken);
}

const spellAbsent = (choose: Choose) => choose<null | undefined>(null, undefined);
const spellText = (text: string | null, choose: Choose) => text ?? spellAbsent(choose);
const spellFlag = (value: boolean, choose: Choose) => {
  const text = String(value);
  return choose<unknown>(value, text, text.toUpperCase(), text.charAt(0).toUpperCase() + text.slice(1));
};
const spellFlagOrNot = (value: boolean | null, choose: Choose) =>
  value === null ? spellAbsent(choose) : spellFlag(value, choose);
/** A whole number that says the same as the text: no leading zero, no digit lost. */
const spellCode = (code: string | null, choose: Choose, none: readonly unknown[] = [null, undefined, '']) => {
  if (code === null) return choose<unknown>(null, ...none);
  return String(Number(code)) === code && Number.isSafeInteger(Number(code))
    ? choose<unknown>(code, Number(code))
    : code;
};
const spellCount = (count: number, choose: Choose) =>
  choose<unknown>(
    ...([count, String(count), verbatim(`${count}.0`), `${count}.0`, `${count}.00`] as const),
    ...(count === 0 ? [null, undefined] : []),
  );
const spellNumber = (value: number | null, choose: Choose) =>
  value === null
    ? choose<unknown>(null, undefined, '')
    : choose<unknown>(value, String(value), `${value}${Number.isInteger(value) ? '.' : ''}000`);

const spellTime = (date: Date, choose: Choose) => {
  const iso = date.toISOString();
  const wall = (minutes: number) => new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
  const whole = iso.endsWith('.000Z') ? [iso.replace('.000Z', 'Z'), iso.slice(0, 19)] : [];
  return choose(
    ...([iso, iso.slice(0, -1), iso.replace('Z', '+00:00'), iso.replace('Z', '-0000')] as const),
    ...[`${wall(330)}+05:30`, `${wall(-210)}-0330`, `${wall(840)}+1400`],
    ...[iso.replace('Z', '000Z'), iso.replace('Z', '999'), iso.replace('Z', '999999Z'), `${wall(60)}123+01:00`],
    ...whole,
  );
};
const spellTimeOrNot = (date: Date | null, choose: Choose) =>
  date === null ? choose<unknown>(null, undefined, '') : spellTime(date, choose);

const spellTexts = (texts: Readonly<Record<string, string>>, choose: Choose) =>
  Object.keys(texts).length === 0 ? choose<unknown>({}, [], null, undefined, { Nothing: null }) : texts;

const texts = fc.string({ unit: 'grapheme', maxLength: 12 });
const textOrNot = fc.option(texts);
const urlOrNot = fc.option(httpUrls);
const dates = fc.date({ min: new Date('1000-01-02'), max: new Date('9000-01-01'), noInvalidDate: true });
const ids = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,24}$/),
  fc.nat().map(String),
  fc.nat().map((n) => `00${n}`),
);
/** What came for a time and is none: it stays in `extra`. */
const noTimes = fc.constantFrom<unknown>('Not Available', 'NaN-NaN-NaN', '2026-02-30T00:00:00Z', 'yes', 0, true);
const flagOrNot = fc.option(fc.boolean());
const codes = fc.constantFrom('0810', '0811', '1012', '0814', '810', '2302');
const unknownMembers = fc
  .dictionary(fc.stringMatching(/^x_[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
  // As JSON has it, which knows no -0.
  .map((members) => JSON.parse(JSON.stringify(members)) as Record<string, unknown>);

const cleanLinks = fc
  .record({
    url: httpUrls,
    refId: ids.filter((id) => id !== 'list'),
    name: textOrNot,
    idTypes: fc.array(fc.record({ country: texts, idType: texts, verificationMethod: texts }), { maxLength: 3 }),
    isSingleUse: flagOrNot,
    callbackUrl: urlOrNot,
    dataPrivacyPolicyUrl: urlOrNot,
    logoUrl: urlOrNot,
    userIds: fc.uniqueArray(fc.oneof(words, ids), { maxLength: 3 }),
    jobs: fc.record({ total: fc.nat({ max: 9 }), failed: fc.nat(), successful: fc.nat({ max: 2 }) }),
    companyName: textOrNot,
    partnerId: fc.option(ids),
    createdAt: fc.option(dates),
    updatedAt: fc.option(dates),
    expiresAt: fc.option(dates),
    disabledAt: fc.option(dates),
    unread: fc.record(
      { created_at: noTimes, updated_at: noTimes, expires_at: noTimes, disabled_at: noTimes },
      { requiredKeys: [] },
    ),
    extra: unknownMembers,
  })
  .map(
    ({ unread, ...link }): Link => ({
      ...link,
      linkId: link.refId,
      createdAt: 'created_at' in unread ? null : link.createdAt,
      updatedAt: 'updated_at' in unread ? null : link.updatedAt,
      expiresAt: 'expires_at' in unread ? null : link.expiresAt,
      disabledAt: 'disabled_at' in unread ? null : link.disabledAt,
      state: link.disabledAt !== null || 'disabled_at' in unread ? 'disabled' : 'active',
      extra: { ...link.extra, ...unread },
    }),
  );

function spellIdTypes(idTypes: Link['idTypes'], choose: Choose) {
  if (idTypes.length === 0) return choose<unknown>([], null, undefined);
  const member = (text: string) => (text === '' ? choose<unknown>('', null, undefined) : text);
  return idTypes.map(({ country, idType, verificationMethod }) => ({
    country: member(country),
    id_type: member(idType),
    verification_method: member(verificationMethod),
  }));
}

function spellUsers([first, ...rest]: readonly string[], choose: Choose): object {
  if (first === undefined) {
    return choose<object>({}, { user_id: null }, { user_id: '' }, { user_ids: [] }, { user_ids: '', user_id: null });
  }
  const one = spellCode(first, choose);
  const all = [first, ...rest].map((id) => spellCode(id, choose));
  const many = choose<object>(
    { user_ids: all },
    { user_id: one, user_ids: all },
    { user_id: '', user_ids: ['', ...all] },
  );
  if (rest.length > 0) return choose<object>(many, { user_id: one, user_ids: all.slice(1) });
  return choose<object>(
    { user_id: one },
    many,
    { user_ids: first },
    { user_id: one, user_ids: [null, one, first, ''] },
  );
}

const spellIds = (refId: string, choose: Choose) => {
  const id = () => spellCode(refId, choose);
  return choose<object>(
    { ref_id: id(), link_id: id() },
    { ref_id: id() },
    { link_id: id() },
    { ref_id: '', link_id: id() },
    { ref_id: id(), link_id: null },
  );
};

const spellUrl = (url: string, choose: Choose) =>
  choose<object>(
    { link_url: url },
    { link: url },
    { link_url: url, link: url },
    { link_url: '', link: url },
    { link_url: null, link: url },
  );

const spellDisabled = ({ disabledAt, extra }: Link, choose: Choose) =>
  extra.disabled_at ?? spellTimeOrNot(disabledAt, choose);

function spellLink(link: Link, choose: Choose): object {
  const address = (url: string | null) => url ?? choose<unknown>(null, undefined, '');
  const record = {
    ...link.extra,
    ...spellUrl(link.url, choose),
    ...spellIds(link.refId, choose),
    ...spellUsers(link.userIds, choose),
    name: spellText(link.name, choose),
    id_types: spellIdTypes(link.idTypes, choose),
    is_single_use: spellFlagOrNot(link.isSingleUse, choose),
    callback_url: address(link.callbackUrl),
    data_privacy_policy_url: address(link.dataPrivacyPolicyUrl),
    logo_url: address(link.logoUrl),
    total_jobs: spellCount(link.jobs.total, choose),
    failed_jobs: spellCount(link.jobs.failed, choose),
    successful_jobs: spellCount(link.jobs.successful, choose),
    company_name: spellText(link.companyName, choose),
    partner_id: spellCode(link.partnerId, choose),
    created_at: link.extra.created_at ?? spellTimeOrNot(link.createdAt, choose),
    updated_at: link.extra.updated_at ?? spellTimeOrNot(link.updatedAt, choose),
    expires_at: link.extra.expires_at ?? spellTimeOrNot(link.expiresAt, choose),
    disabled_at: spellDisabled(link, choose),
  };
  return shuffled(record, choose);
}

/** A client of a service that answers with this text. */
const answering = (text: string) =>
  clientOf(() => new Response(text, { headers: { 'content-type': 'application/json' } }), { maxRetries: 0 }).client;

test('any wire spelling of a link decodes to the same clean link, by get, list, update and create', async () => {
  const property = fc.asyncProperty(cleanLinks, choosers, async (link, choose) => {
    const { refId, url, idTypes, disabledAt, state } = link;
    const changed = {
      ...spellUrl(url, choose),
      ...spellIds(refId, choose),
      id_types: spellIdTypes(idTypes, choose),
      disabled_at: spellDisabled(link, choose),
    };
    const created = choose<object>({ link: url }, { link_url: url }, { link: '', link_url: url });
    const count = (value: number) => choose<unknown>(value, String(value), verbatim(`${value}.0`));
    const page = {
      links: [spellLink(link, choose), spellLink(link, choose)],
      meta: { currentPage: count(1), limit: count(20), totalCount: count(2), totalPages: count(1) },
    };

    const read = await answering(render(spellLink(link, choose))).links.get(refId);
    const listed = await answering(render(page)).links.list();
    const updated = await answering(render(shuffled(changed, choose))).links.update(refId, { idTypes: [] });
    const made = await operations[0].call(answering(render({ ...created, ...spellIds(refId, choose) })));

    expect(read).toEqual(link);
    expect(listed.links).toEqual([link, link]);
    expect(listed.meta).toEqual({ currentPage: 1, limit: 20, totalCount: 2, totalPages: 1 });
    expect(updated).toEqual({ refId, url, idTypes, disabledAt, state });
    expect(made).toEqual({ url, refId });
  });

  await fc.assert(property, runs(400));
}, 60_000);

const partnerParams = fc.record({
  userId: fc.option(fc.constant('0071')),
  jobId: fc.option(fc.constant('4711')),
  jobType: fc.option(fc.constantFrom('1', '4', '04')),
  linkId: fc.option(ids),
  extra: fc.dictionary(fc.stringMatching(/^x_[a-z]{1,5}$/), texts, { maxKeys: 2 }),
});

const resultMembers = {
  resultCode: fc.option(codes),
  resultText: texts,
  resultType: textOrNot,
  hostedJobId: fc.option(ids),
  jsonVersion: fc.option(fc.constantFrom('1.0.0', '1', '1.5')),
  isFinal: flagOrNot,
  isMachine: flagOrNot,
  confidence: fc.option(fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constantFrom(99.99, 97.5, 0.25))),
  actions: fc.dictionary(fc.stringMatching(/^[A-Z][a-z_]{1,9}$/), texts, { maxKeys: 3 }),
  partnerParams: fc.option(partnerParams),
  // What came for a number and is none stays there.
  extra: fc
    .tuple(
      unknownMembers,
      fc.record({ ConfidenceValue: fc.constantFrom<unknown>('N/A', 'Not Available', {}, true) }, { requiredKeys: [] }),
    )
    .map(([unknown, unread]) => ({ ...unknown, ...unread })),
};
const readConfidence = <Result extends { readonly confidence: number | null; readonly extra: object }>(
  result: Result,
) => ('ConfidenceValue' in result.extra ? { ...result, confidence: null } : result);
const cleanResults = fc.record(resultMembers).map(readConfidence);
const identityMembers = ['fullName', 'dateOfBirth', 'idNumber', 'idType', 'country', 'expirationDate'] as const;
const identities = fc
  .tuple(textOrNot, textOrNot, textOrNot, textOrNot, textOrNot, textOrNot)
  .map((values) => Object.fromEntries(identityMembers.map((name, index) => [name, values[index] ?? null])))
  .map((identity) => (Object.values(identity).every((value) => value === null) ? null : identity));
const cleanEntries = fc.record({ ...resultMembers, identity: identities }).map(readConfidence);

const selfies = fc.record({
  url: urlOrNot,
  signedAt: fc.date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
  seconds: fc.option(fc.integer({ min: 1, max: 604_800 })),
  extra: unknownMembers,
});

const cleanJobs = fc.record({
  state: fc.constantFrom('pending', 'succeeded', 'failed'),
  code: fc.option(fc.constantFrom('2302', '2307', '2310', '2314', '0042')),
  said: fc.oneof(
    fc.record({ message: fc.constant(null), result: fc.option(cleanResults) }),
    fc.record({ message: words, result: fc.constant(null) }),
  ),
  history: fc.option(fc.array(cleanEntries, { maxLength: 3 })),
  selfie: fc.option(selfies),
  signedAt: fc.integer({ min: -300_000, max: 300_000 }).map((ms) => new Date(now + ms)),
});

const job = { userId: '0071', jobId: '4711' };

function spellResult(result: Of<typeof cleanResults>, choose: Choose): object {
  const { partnerParams: params } = result;
  return {
    ...result.extra,
    ResultCode: spellCode(result.resultCode, choose),
    ResultText: result.resultText,
    ResultType: spellText(result.resultType, choose),
    HostedJobID: spellCode(result.hostedJobId, choose),
    JSONVersion:
      result.jsonVersion !== null && String(Number(result.jsonVersion)) === result.jsonVersion
        ? choose<unknown>(result.jsonVersion, Number(result.jsonVersion))
        : spellText(result.jsonVersion, choose),
    IsFinalResult: spellFlagOrNot(result.isFinal, choose),
    IsMachineResult: spellFlagOrNot(result.isMachine, choose),
    ConfidenceValue: result.extra.ConfidenceValue ?? spellNumber(result.confidence, choose),
    Actions: spellTexts(result.actions, choose),
    PartnerParams:
      params === null
        ? choose<unknown>(null, undefined, [])
        : shuffled(
            {
              ...params.extra,
              user_id: spellCode(params.userId, choose),
              job_id: spellCode(params.jobId, choose),
              job_type: spellCode(params.jobType, choose),
              link_id: spellCode(params.linkId, choose),
            },
            choose,
          ),
  };
}

function spellEntry({ identity, ...result }: Of<typeof cleanEntries>, choose: Choose): object {
  const wireNames = ['FullName', 'DOB', 'IDNumber', 'IDType', 'Country', 'ExpirationDate'];
  const values = identityMembers.map((name) => spellText(identity?.[name] ?? null, choose));
  const members = Object.fromEntries(wireNames.map((name, index) => [name, values[index]]));
  return shuffled({ ...spellResult(result, choose), ...members }, choose);
}

/** An address presigned as object stores do it, and when it ends. */
function presigned({ url, signedAt, seconds }: Of<typeof selfies>) {
  if (url === null || seconds === null) return { selfieImage: url, expiresAt: null };
  const address = new URL(url);
  address.search = '';
  const second = Math.floor(signedAt.getTime() / 1000) * 1000;
  address.searchParams.set('X-Amz-Date', new Date(second).toISOString().replace(/[-:]|\.\d+/g, ''));
  address.searchParams.set('X-Amz-Expires', String(seconds));
  return { selfieImage: address.href, expiresAt: new Date(second + seconds * 1000) };
}

/** The signing members: by text as it stands, or by a number, signed as digits or as the time in ISO form. */
function spellSignature(signedAt: Date, choose: Choose): object {
  const ms = signedAt.getTime();
  const text = choose(signedAt.toISOString(), spellTime(signedAt, choose), String(ms));
  const [timestamp, covered] = choose<[unknown, string]>([text, text], [ms, String(ms)], [ms, signedAt.toISOString()]);
  const signature = macOf(covered);
  return {
    timestamp,
    ...choose<object>(
      { sec_key: signature },
      { signature },
      { sec_key: signature, signature },
      { sec_key: '', signature },
      { sec_key: signature, signature: null },
    ),
  };
}

test('any wire spelling of a job status decodes to the same clean status', async () => {
  const property = fc.asyncProperty(cleanJobs, choosers, async (clean, choose) => {
    const { state, code, said, history, selfie, signedAt } = clean;
    const complete = state !== 'pending';
    const success = state === 'succeeded';
    // A job that succeeded is named, here or there.
    const mayLeaveOut = !success || said.result?.partnerParams?.jobId === job.jobId;
    const address = selfie && presigned(selfie);
    const entries = history?.map((entry) => spellEntry(entry, choose));
    const record = {
      ...spellSignature(signedAt, choose),
      user_id: choose<unknown>(job.userId, undefined, null, ''),
      job_id: choose<unknown>(job.jobId, Number(job.jobId), ...(mayLeaveOut ? [undefined, null, ''] : [])),
      job_complete: spellFlag(complete, choose),
      job_success: complete
        ? spellFlag(success, choose)
        : choose<unknown>(false, true, 'true', null, undefined, 1, 'N/A'),
      code: spellCode(code, choose),
      result:
        said.message ??
        (said.result === null
          ? choose<unknown>(null, undefined, {}, [], '')
          : shuffled(spellResult(said.result, choose), choose)),
      history:
        entries === undefined
          ? spellAbsent(choose)
          : entries.length === 0
            ? choose<unknown>([], {})
            : entries.length === 1
              ? choose<unknown>(entries, entries[0])
              : entries,
      image_links:
        selfie === null
          ? spellAbsent(choose)
          : { ...selfie.extra, selfie_image: address?.selfieImage ?? choose<unknown>(null, undefined, '') },
    };

    const status = await answering(render(shuffled(record, choose))).jobs.status(job);

    expect(status).toEqual({
      ...job,
      state,
      complete,
      success,
      code,
      message: said.message,
      result: said.result,
      imageLinks: selfie === null ? null : { ...address, extra: selfie.extra },
      history,
      signedAt,
    });
  });

  await fc.assert(property, runs(500));
}, 60_000);

// Answers of any bytes ------------------------------------------------------

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
  'any bytes as an answer to $name give a value or a HostedError, and nothing else comes of them',
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

// Any input -----------------------------------------------------------------

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
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.test/privacy',
  callbackUrl: 'https://partner.test/callback',
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

const givenInputs: readonly {
  readonly name: OperationName;
  readonly arbitrary: fc.Arbitrary<unknown>;
  /** As a caller without types calls. */
  readonly call: (client: HostedClient, input: never, options: never) => PromiseLike<unknown>;
}[] = [
  {
    name: 'links.create',
    arbitrary: inputs(
      ...['companyName', 'dataPrivacyPolicyUrl', 'callbackUrl', 'name', 'idTypes', 'logoUrl', 'isSingleUse', 'userId'],
      ...['expiresAt', 'extra'],
    ),
    call: (client, input, options) => client.links.create(input, options),
  },
  {
    name: 'links.update',
    arbitrary: inputs('isDisabled', 'idTypes'),
    call: (client, input, options) => client.links.update('ref-1', input, options),
  },
  {
    name: 'links.get',
    arbitrary: fc.oneof(fc.stringMatching(/^[A-Za-z0-9_-]{1,130}$/), oddMember),
    call: (client, input, options) => client.links.get(input, options),
  },
  {
    name: 'links.list',
    arbitrary: inputs('page', 'prefetch', 'maxPages', 'signal', 'timeoutMs', 'headers'),
    call: (client, input) => client.links.list(input),
  },
  {
    name: 'jobs.status',
    arbitrary: inputs('userId', 'jobId', 'imageLinks', 'history'),
    call: (client, input, options) => client.jobs.status(input, options),
  },
];

/** Whether a request is one of this client's: to its own address, signed, and about its own partner. */
function expectOwn({ url, body, init }: SentRequest): void {
  expect(url).toMatch(/^https:\/\/sandbox\.hosted\.test\/v1\/(?:hosted_links(?:\/[A-Za-z0-9_-]{1,128})?|job_status)$/);
  const { timestamp, partner_id, sec_key, signature = sec_key } = body;
  expect(partner_id).toBe(partnerId);
  expect(signature).toBe(macOf(String(timestamp)));
  expect(new Headers(init.headers).get('content-type')).toBe('application/json');
}

test.each(givenInputs)(
  'any input of $name gives a request, or a HostedValidationError and none',
  async ({ name, arbitrary, call }) => {
    const ends = { sent: 0, refused: 0 };
    const answer = operations.find((operation) => operation.name === name)?.answer() ?? {};
    const property = fc.asyncProperty(arbitrary, callOptions, async (input, options) => {
      const { client, sent } = clientOf(answer, { maxRetries: 0 });
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
      // The answer may be about another link or job than the one asked for.
      if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(HostedError);
    });

    await fc.assert(property, runs(400));

    expect(Math.min(ends.sent, ends.refused)).toBeGreaterThan(20);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
  60_000,
);

// Signatures ----------------------------------------------------------------

const partnerIds = fc.oneof(
  fc.stringMatching(/^[0-9]{1,4}$/),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter((text) => /^\S+$/.test(text)),
);
const apiKeys = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 100 })
  .filter((key) => key.trim() !== '' && !/[\r\n]/.test(key));

/** A key pair of node:crypto, from a seed of its own number (RFC 8410 §7 for the prefix). */
function keyPair(number: number) {
  const seed = Uint8Array.from(createHash('sha256').update(`seed ${number}`).digest());
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const publicKey = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  return { seed, publicKey, raw: Uint8Array.from(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)) };
}

/** Two schemes: the client's options, and whether node:crypto takes a signature for one over a text. */
const hmacScheme = apiKeys.map((apiKey) => ({
  signer: hmacSha256({ apiKey }),
  verifies: (signature: Buffer, text: string) =>
    createHmac('sha256', Buffer.from(apiKey, 'utf8')).update(Buffer.from(text, 'utf8')).digest().equals(signature),
}));
const ed25519Scheme = fc.nat({ max: 1_000 }).map((number) => {
  const { seed, publicKey, raw } = keyPair(number);
  return {
    signer: ed25519({ secretKey: seed, servicePublicKey: raw }),
    verifies: (signature: Buffer, text: string) => verify(null, Buffer.from(text, 'utf8'), publicKey, signature),
  };
});
const schemes = fc.oneof({ weight: 7, arbitrary: hmacScheme }, { weight: 1, arbitrary: ed25519Scheme });
const formats = fc.constantFrom('iso', 'epoch-ms', 'epoch-s');

/** The text with one bit of one of its UTF-16 units changed; null where that is no text any more. */
function withBitChanged(text: string, number: number): string | null {
  const at = Math.floor(number / 16) % text.length;
  const changed = String.fromCharCode(text.charCodeAt(at) ^ (1 << (number % 16)));
  const whole = text.slice(0, at) + changed + text.slice(at + 1);
  return Buffer.from(whole, 'utf8').toString('utf8') === whole ? whole : null;
}

test('a signed request always verifies by node:crypto, and never with one bit of timestamp, partner or signature changed', async () => {
  const property = fc.asyncProperty(
    ...([
      schemes,
      partnerIds,
      fc.constantFrom(...operations),
      formats,
      formats,
      fc.nat({ max: 2 ** 40 }),
      fc.nat(),
    ] as const),
    async ({ signer, verifies }, partner, { call, answer }, timestampFormat, jobTimestampFormat, at, number) => {
      const wire = { timestampFormat, jobTimestampFormat };
      const clock = { now: () => at, sleep: () => new Promise<void>(() => undefined) };
      const { client, sent } = clientOf(answer(), { signer, partnerId: partner, wire, clock, maxRetries: 0 });
      await Promise.allSettled([call(client)]);
      const body = sent[0]?.body ?? {};
      const timestamp = String(body.timestamp);
      const signature = String(body.signature ?? body.sec_key);
      const bytes = Buffer.from(signature, 'base64');
      const isBelieved = async (text: string, input: { timestamp: string; partnerId: string }) => {
        const ours = await signer.verify(text, input);
        const theirs = verifies(Buffer.from(text, 'base64'), `${input.timestamp}${input.partnerId}sid_request`);
        return [ours, theirs];
      };

      expect(body.partner_id).toBe(partner);
      expect(await isBelieved(signature, { timestamp, partnerId: partner })).toEqual([true, true]);

      const otherTimestamp = withBitChanged(timestamp, number);
      const otherPartner = withBitChanged(partner, number);
      const otherBytes = Buffer.from(bytes);
      const spot = Math.floor(number / 8) % bytes.length;
      otherBytes[spot] = (bytes[spot] ?? 0) ^ (1 << (number % 8));
      const otherSignature = otherBytes.toString('base64');
      if (otherTimestamp !== null) {
        expect(await isBelieved(signature, { timestamp: otherTimestamp, partnerId: partner })).toEqual([false, false]);
      }
      if (otherPartner !== null) {
        expect(await isBelieved(signature, { timestamp, partnerId: otherPartner })).toEqual([false, false]);
      }
      expect(await isBelieved(otherSignature, { timestamp, partnerId: partner })).toEqual([false, false]);
      const otherText = withBitChanged(signature, number);
      if (otherText !== null) expect(await signer.verify(otherText, { timestamp, partnerId: partner })).toBe(false);
    },
  );

  await fc.assert(property, runs(250));
}, 60_000);

test('a signed job status is believed, and never with one bit of timestamp, partner or signature changed', async () => {
  const property = fc.asyncProperty(fc.nat(), fc.constantFrom('sec_key', 'signature'), async (number, member) => {
    const answer = signed({ job_complete: true, job_success: true, job_id: 'job-1' }, { member });
    const changed = (name: string) => ({ ...answer, [name]: withBitChanged(String(answer[name]), number) ?? 'x' });
    const ask = (reply: object, partner = partnerId) =>
      clientOf(reply, { maxRetries: 0, partnerId: partner }).client.jobs.status({ userId: 'user-1', jobId: 'job-1' });

    const status = await ask(answer);
    const errors = [
      await rejection(ask(changed('timestamp'))),
      await rejection(ask(changed(member))),
      await rejection(ask({ ...changed(member), sec_key: answer[member], signature: changed(member)[member] })),
      await rejection(ask(answer, withBitChanged(partnerId, number)?.replace(/\s/, '_') ?? '086')),
    ];

    expect(status.state).toBe('succeeded');
    for (const error of errors) expect(error).toBeInstanceOf(HostedSignatureError);
  });

  await fc.assert(property, runs(250));
}, 60_000);
