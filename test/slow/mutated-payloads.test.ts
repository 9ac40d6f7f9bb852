/**
 * Genuine payloads with wrong values in some places: a verdict is lost only if an id, a code or one of the two booleans is
 * wrong, and every value that is returned has its type. `DRAWS=40000` draws more of them.
 */

import fc from 'fast-check';
import { HostedResponseError, type JobStatus } from 'hosted-client';
import { expect, test } from 'vitest';
import { identityFields, partnerParamsFields, resultFields } from '../../src/jobs/fields.js';
import { linkFields } from '../../src/links/fields.js';
import type { Fields } from '../../src/protocol/fields.js';
import * as payloads from '../fixtures/real-payloads.js';
import {
  job,
  jobInSampleSpelling,
  jobInTableSpelling,
  linkInSampleSpelling,
  linkInTableSpelling,
  linkRefId,
} from '../fixtures/records.js';
import { clientOf, signed } from '../support/fake-fetch.js';

const draws = Number(process.env.DRAWS ?? 2_000);

const params = { job_id: job.jobId, user_id: job.userId, job_type: 4 };
const result = (payload: object) => ({ ...payload, PartnerParams: { ...params, link_id: 'abcd1234' } });
const finished = { job_complete: true, job_success: true, code: '2302' };

/** Statuses of real deployments and of the protocol, about one job. */
const statuses: readonly object[] = [
  jobInTableSpelling,
  jobInSampleSpelling,
  { ...payloads.finishedWithoutSuccess },
  { ...payloads.pendingMinimal },
  { job_complete: false, job_success: false, code: '2314', result: payloads.textResult },
  { ...payloads.finishedJob, result: result(payloads.finishedJob.result) },
  {
    ...{ ...finished, result: result(payloads.selfieResult), image_links: payloads.finishedJob.image_links },
    history: [payloads.biometricKycResult, payloads.documentResult, payloads.documentCallback].map(result),
  },
  {
    ...{ ...finished, result: result(payloads.jobWithActions.result) },
    history: [payloads.idVerificationWithoutDates, payloads.idVerificationOfNumericTime].map(result),
  },
].map(({ signature, timestamp, ...status }: Record<string, unknown>) => ({
  ...status,
  user_id: job.userId,
  job_id: job.jobId,
}));

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, '', 'x', ' ', 'N/A', 'true', 'no', 0, 1, -1, 1.5, 2 ** 53, 1e300, true, false),
  fc.constantFrom<unknown>([], {}, [[]], [null], [{}], ['x'], { signature: 'x' }, { length: 1 }, '2026-02-30'),
  fc.jsonValue({ maxDepth: 2 }),
);
const mutations = fc.array(
  fc.record({ at: fc.nat(), how: fc.constantFrom('replace', 'remove', 'wrap', 'add', 'repeat'), value: odd }),
  { minLength: 1, maxLength: 4 },
);

/** Every place in a value, as its holder, its name there and its path. */
function placesIn(
  holder: Record<string, unknown>,
  path: readonly string[] = [],
): readonly [typeof holder, string, string[]][] {
  return Object.keys(holder).flatMap((name) => {
    const inner = holder[name];
    const own: [typeof holder, string, string[]] = [holder, name, [...path, name]];
    return typeof inner === 'object' && inner !== null
      ? [own, ...placesIn(inner as Record<string, unknown>, [...path, name])]
      : [own];
  });
}

/** A copy with the mutations, and the paths at which something was changed. */
function mutated(payload: object, changes: readonly { at: number; how: string; value: unknown }[]) {
  const copy = structuredClone(payload) as Record<string, unknown>;
  const paths: string[][] = [];
  for (const { at, how, value } of changes) {
    const places = placesIn(copy);
    const place = places[at % places.length];
    if (!place) break;
    const [holder, name, path] = place;
    const given = structuredClone(value);
    if (how === 'remove' && !Array.isArray(holder)) delete holder[name];
    else if (how === 'wrap') holder[name] = [holder[name]];
    else if (how === 'repeat' && Array.isArray(holder)) holder.push(structuredClone(holder[Number(name)]));
    else if (how === 'add' && !Array.isArray(holder)) holder[`x_${name}`] = given;
    else holder[name] = given;
    if (how !== 'add' || Array.isArray(holder)) paths.push(path);
  }
  return { copy, paths };
}

const strict = /^(?:user_id|job_id|link_id|PartnerParams|code|job_complete|job_success)$/;
/** Whether a change may lose the verdict: of a result's code it may not. */
const isStrict = (path: readonly string[]) => path.some((name) => strict.test(name));

// Types of returned values ----------------------------------------------------

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const isDate: Check = (value) => value instanceof Date && !Number.isNaN(value.getTime());
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isUrl: Check = (value) => isText(value) && /^https?:/i.test(String(value));
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const recordOf =
  (check: Check): Check =>
  (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(check);
const shape =
  <T = Readonly<Record<string, unknown>>>(checks: { readonly [Name in keyof T]-?: Check }): Check =>
  (value) => {
    const names = Object.keys(checks) as (keyof T & string)[];
    const wrong = names.filter((name) => !checks[name](Object(value)[name]));
    const unknown = Object.keys(Object(value)).filter((name) => !(name in checks));
    if (wrong.length + unknown.length > 0) throw new Error(`wrong: ${wrong}; unknown: ${unknown}`);
    return true;
  };

const isAnything: Check = () => true;
const textOrNull = orNull(isText);
const checksByKind: Readonly<Record<string, Check>> = {
  text: textOrNull,
  code: textOrNull,
  version: textOrNull,
  flag: orNull(isFlag),
  number: orNull(isNumber),
  strings: recordOf(isText),
  time: orNull(isDate),
  url: orNull(isUrl),
};
/** The checks of a table's fields, by their kinds; a field of another kind needs its own. */
const checksOf = (fields: Fields, own: Readonly<Record<string, Check>> = {}) => ({
  ...Object.fromEntries(Object.entries(fields).map(([name, { kind }]) => [name, checksByKind[kind] ?? (() => false)])),
  ...own,
});

const isParams = shape(checksOf(partnerParamsFields, { extra: recordOf(isText) }));
const resultChecks = checksOf(resultFields, { partnerParams: orNull(isParams), extra: recordOf(isAnything) });
const isEntry = shape({ ...resultChecks, identity: orNull(shape(checksOf(identityFields))) });
const isStatus = shape<JobStatus>({
  ...{ userId: isText, jobId: isText, state: isText, complete: isFlag, success: isFlag, code: textOrNull },
  ...{ message: textOrNull, signedAt: isDate, result: orNull(shape(resultChecks)) },
  imageLinks: orNull(
    shape<NonNullable<JobStatus['imageLinks']>>({
      selfieImage: orNull(isUrl),
      expiresAt: orNull(isDate),
      extra: recordOf(isAnything),
    }),
  ),
  history: orNull(listOf(isEntry)),
});
const { userId: _userId, ...linkChecks } = checksOf(linkFields, {
  ...{ url: isUrl, linkId: isText, refId: isText, userIds: listOf(isText), state: isText, extra: recordOf(isAnything) },
  idTypes: listOf(shape({ country: isText, idType: isText, verificationMethod: isText })),
  jobs: shape({ total: isCount, failed: isCount, successful: isCount }),
});
const isLink = shape(linkChecks);

test(`of ${draws} mutated statuses, a verdict is lost only if an id, a code or a boolean is wrong`, async () => {
  const ends = { read: 0, lost: 0, unread: 0 };
  const property = fc.asyncProperty(fc.constantFrom(...statuses), mutations, async (genuine, changes) => {
    const { copy, paths } = mutated(genuine, changes);
    const ask = (record: object) =>
      clientOf(signed(record), { maxRetries: 0 }).client.jobs.status({ ...job, history: true });

    const [end] = await Promise.allSettled([ask(copy)]);

    if (end.status === 'rejected') {
      expect(paths.some(isStrict), `lost by ${paths.map((path) => path.join('.'))}: ${end.reason}`).toBe(true);
      ends.lost += 1;
      return;
    }
    expect(isStatus(end.value)).toBe(true);
    ends.read += 1;
    const { state } = await ask(genuine);
    if (!paths.some(isStrict)) expect(end.value.state).toBe(state);
  });

  await fc.assert(property, { seed: 1, numRuns: draws });

  expect(Math.min(ends.read, ends.lost)).toBeGreaterThan(draws / 20);
}, 600_000);

const strictOfLink = /^(?:link|link_url|ref_id|link_id|user_ids?|partner_id|(?:total|failed|successful)_jobs)$/;

test(`of ${draws} mutated links, one is lost only if an id, its URL or a count is wrong`, async () => {
  const links = [
    linkInTableSpelling,
    linkInSampleSpelling,
    { ...linkInTableSpelling, disabled_at: '2026-01-03T08:00:00Z' },
  ];
  const property = fc.asyncProperty(fc.constantFrom(...links), mutations, async (genuine, changes) => {
    const { copy, paths } = mutated(genuine, changes);

    const [end] = await Promise.allSettled([clientOf(copy, { maxRetries: 0 }).client.links.get(linkRefId)]);

    const hasStrict = paths.some((path) => strictOfLink.test(path[0] ?? ''));
    if (end.status === 'fulfilled') expect(isLink(end.value)).toBe(true);
    else {
      expect(end.reason).toBeInstanceOf(HostedResponseError);
      expect(hasStrict, `lost by ${paths.map((path) => path.join('.'))}: ${end.reason}`).toBe(true);
    }
  });

  await fc.assert(property, { seed: 1, numRuns: draws });
}, 600_000);
