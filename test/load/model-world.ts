/** A model of the service: generated steps, what must come of each, and the comparison with the mock service. */

import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import {
  HostedClient,
  HostedError,
  HostedValidationError,
  type JobRef,
  type Link,
  type LinkChanges,
  type NewLink,
  type OperationName,
} from 'hosted-client';
import { createMockService, type MockFault } from 'hosted-client/testing';
import { expect } from 'vitest';
import { emptyLink } from '../fixtures/records.js';
import { now, partnerId, rejection } from '../support/fake-fetch.js';
import { createWithRandom, randomFrom } from '../support/random.js';
import { httpUrls, type Of, words } from './generated.js';

const verificationMethods = [
  'biometric_kyc',
  'doc_verification',
  'enhanced_document_verification',
  'enhanced_kyc',
] as const;

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

const newLinkFields = {
  companyName: words,
  dataPrivacyPolicyUrl: httpUrls,
  callbackUrl: fc.option(httpUrls),
  name: words,
  idTypes: idTypeLists,
  logoUrl: httpUrls,
  isSingleUse: fc.boolean(),
  userId: words,
  expiresAt: fc.date({ min: new Date('2026-02-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
};

const newLinks = fc.record(newLinkFields satisfies Record<Exclude<keyof NewLink, 'extra'>, fc.Arbitrary<unknown>>, {
  requiredKeys: ['companyName', 'dataPrivacyPolicyUrl', 'callbackUrl'],
});

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

export const steps = fc.array(
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

export const setups = fc.record({
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
  const given = { ...environment.clientOptions, fetch: fetch as typeof globalThis.fetch, maxRetries };
  // Its own, so that a counterexample draws the same numbers when it is tried alone.
  const client = createWithRandom(randomFrom(options.seed), () => new HostedClient(given));
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
export async function live(setup: Setup, course: readonly Step[]): Promise<void> {
  const { clock, environment, other, client, under } = createWorld(setup);
  const { maxRetries, pageSize } = setup;
  const links: KnownLink[] = [];
  const jobs: KnownJob[] = [];
  // Links that are there, and that nobody here has the id of.
  let ghosts = setup.seeded;

  const expectedLink = (link: KnownLink): Link => {
    const own = jobs.filter(({ linkRefId }) => linkRefId === link.refId);
    const { userId, ...given } = link.given;
    return {
      ...emptyLink,
      ...given,
      url: link.url,
      linkId: link.refId,
      refId: link.refId,
      idTypes: link.idTypes,
      userIds: userId === undefined ? [expect.any(String)] : [userId],
      jobs: {
        total: own.length,
        failed: own.filter(({ outcome }) => outcome?.success === false).length,
        successful: own.filter(({ outcome }) => outcome?.success === true).length,
      },
      partnerId,
      createdAt: new Date(link.createdAt),
      updatedAt: expect.any(Date),
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

  // A job begins on a link that is neither disabled nor expired nor used up (§3).
  const isClosed = ({ given, refId, disabledAt }: KnownLink) =>
    disabledAt !== null ||
    (given.expiresAt !== undefined && given.expiresAt.getTime() <= clock.time) ||
    (given.isSingleUse === true && jobs.some(({ linkRefId }) => linkRefId === refId));

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
        const changes = { ...(idTypes && { idTypes }), ...(disables && { isDisabled: true }) } as LinkChanges;
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
        if (link !== undefined && isClosed(link)) {
          expect(() => environment.jobs.start({ linkRefId: link.refId })).toThrow(HostedValidationError);
          return;
        }
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
