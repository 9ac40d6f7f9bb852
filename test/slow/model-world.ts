/** A model of the service: generated steps, what must come of each, and the comparison with the mock service. */

import fc from 'fast-check';
import {
  HostedClient,
  type HostedError,
  HostedValidationError,
  type JobRef,
  type Link,
  type LinkChanges,
  type NewLink,
} from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect } from 'vitest';
import { emptyLink } from '../fixtures/records.js';
import { now, partnerId, rejection, stillClock } from '../support/fake-fetch.js';
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

const which = fc.nat({ max: 99 });
const whichOrNone = fc.option(which);
const pagesOrNone = fc.option(fc.nat({ max: 3 }));

/** A step of a sequence; which link or job it is for is counted round among those that are known. */
function step<const Kind extends string, Members extends object>(
  kind: Kind,
  members: { readonly [Name in keyof Members]: fc.Arbitrary<Members[Name]> },
): fc.Arbitrary<{ readonly kind: Kind; readonly passMs: number } & Members> {
  const own = fc.record(members) as unknown as fc.Arbitrary<Members>;
  return fc.tuple(fc.nat({ max: 2_000 }), own).map(([passMs, given]) => ({ kind, passMs, ...given }));
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

/** The service, and a client of it, on a clock that moves only when told. */
function createWorld({ environment: name, tellsFirstPage, wire, seeded, ...options }: Setup) {
  const clock = { ...stillClock(), time: now, now: () => clock.time };
  const told = { ...wire, ...(tellsFirstPage && { firstPage: options.firstPage }) };
  const service = createMockService({ ...options, clock, wire: told });
  const environment = service[name];
  environment.links.seed(seeded);
  const given = { ...environment.clientOptions, fetch: service.fetch, maxRetries: 0 };
  return {
    clock,
    environment,
    other: service[name === 'sandbox' ? 'production' : 'sandbox'],
    // Its own, so that a counterexample draws the same numbers when it is tried alone.
    client: createWithRandom(randomFrom(options.seed), () => new HostedClient(given)),
  };
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
  const { clock, environment, other, client } = createWorld(setup);
  // Links that are there, and that nobody here has the id of.
  const { pageSize, seeded } = setup;
  const links: KnownLink[] = [];
  const jobs: KnownJob[] = [];

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
    expect(there).toHaveLength(links.length + seeded);
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
    switch (at.kind) {
      case 'create': {
        const created = await client.links.create(at.link);
        const idTypes = asKept(at.link.idTypes ?? []);
        links.push({ ...created, given: at.link, createdAt: clock.time, idTypes, disabledAt: null });
        return;
      }
      case 'update':
      case 'disable': {
        const link = links[at.which % links.length];
        if (link === undefined) return;
        const idTypes = at.kind === 'update' ? at.idTypes : undefined;
        const disables = at.kind === 'disable' || at.disables;
        const changes = { ...(idTypes && { idTypes }), ...(disables && { isDisabled: true }) } as LinkChanges;
        if (idTypes) link.idTypes = asKept(idTypes);
        if (disables) link.disabledAt ??= clock.time;
        const updating =
          at.kind === 'disable' ? client.links.disable(link.refId) : client.links.update(link.refId, changes);
        const { url, refId, idTypes: kept, disabledAt, state } = expectedLink(link);
        expect(await updating).toEqual({ url, refId, idTypes: kept, disabledAt, state });
        return;
      }
      case 'get': {
        const link = links[at.which % links.length];
        if (link !== undefined) expect(await client.links.get(link.refId)).toEqual(expectedLink(link));
        return;
      }
      case 'list': {
        const pages = Math.ceil((links.length + seeded) / pageSize);
        const skipped = at.skip === null ? 0 : Math.min(at.skip, Math.max(0, pages - 1));
        const page = at.skip === null ? undefined : setup.firstPage + skipped;
        expectListed(await walk(at.way, at.prefetch, page), skipped * pageSize);
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
        const value = await client.jobs.status(query);
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
  const pages = Math.ceil((links.length + seeded) / pageSize);
  expect(environment.requests.length - before).toBe(Math.max(1, pages));
  for (const link of links) expect(await client.links.get(link.refId)).toEqual(expectedLink(link));
  expect(other.links.all()).toEqual([]);
  expect(other.requests).toEqual([]);
}
