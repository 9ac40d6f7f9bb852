// Properties over generated input, seeded: spellings of one record.

import fc from 'fast-check';
import type { HistoryEntry, JobResult, Link } from 'hosted-client';
import { expect, test } from 'vitest';
import { identityFields, resultFields } from '../../src/jobs/fields.js';
import { linkFields } from '../../src/links/fields.js';
import type { Fields } from '../../src/protocol/fields.js';
import { clientOf, sign as macOf, now, operations } from '../support/fake-fetch.js';
import { httpUrls, type Of, runs, words } from './generated.js';

/** Picks among spellings; `undefined` leaves a member out. */
type Choose = <T>(...spellings: readonly [T, ...T[]]) => T;

const choosers: fc.Arbitrary<Choose> = fc
  .array(fc.nat({ max: 719 }), { minLength: 1, maxLength: 90, size: 'max' })
  .map((numbers) => {
    let turnOf = 0;
    // Null and undefined are spellings, too.
    const pick = (length: number) => (numbers[turnOf++ % numbers.length] ?? 0) % length;
    return <T>(...spellings: readonly [T, ...T[]]) => spellings[pick(spellings.length)] as T;
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
const spellText = (text: string | null, choose: Choose) => text ?? choose<unknown>(null, undefined, '');
const spellFlag = (value: boolean, choose: Choose) => {
  const text = String(value);
  return choose<unknown>(value, text, text.toUpperCase(), text.charAt(0).toUpperCase() + text.slice(1));
};
const spellFlagOrNot = (value: boolean | null, choose: Choose) =>
  value === null ? choose<unknown>(null, undefined, '') : spellFlag(value, choose);
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
    ...(count === 0 ? [null, undefined, ''] : []),
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
const someText = texts.filter((text) => text !== '');
const urlOrNot = fc.option(httpUrls);
const dates = fc.date({ min: new Date('1000-01-02'), max: new Date('9000-01-01'), noInvalidDate: true });
const ids = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,24}$/),
  fc.nat().map(String),
  fc.nat().map((n) => `00${n}`),
);

interface Kind<Value = never> {
  readonly clean: fc.Arbitrary<unknown>;
  readonly spell: (value: Value, choose: Choose) => unknown;
  /** What may come for a field, and cannot be read: it stays in `extra`. */
  readonly unreadable: fc.Arbitrary<unknown>;
}

const spellUrlOrNot = (url: string | null, choose: Choose) => url ?? choose<unknown>(null, undefined, '');
const kinds: Readonly<Record<string, Kind>> = {
  text: { clean: fc.option(someText), spell: spellText, unreadable: fc.constantFrom<unknown>(5, true, {}, ['x']) },
  code: { clean: fc.option(ids), spell: spellCode, unreadable: fc.constantFrom<unknown>(1.5, 2 ** 53, {}, []) },
  version: {
    clean: fc.option(fc.constantFrom('1.0.0', '1', '1.5')),
    spell: (version: string | null, choose) =>
      version !== null && String(Number(version)) === version
        ? choose<unknown>(version, Number(version))
        : spellText(version, choose),
    unreadable: fc.constantFrom<unknown>(true, {}, []),
  },
  flag: {
    clean: fc.option(fc.boolean()),
    spell: spellFlagOrNot,
    unreadable: fc.constantFrom<unknown>(1, 0, 'yes', ' true', []),
  },
  number: {
    clean: fc.option(fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constantFrom(99.99, 97.5, 0.25))),
    spell: spellNumber,
    unreadable: fc.constantFrom<unknown>('N/A', 'Not Available', {}, true),
  },
  url: { clean: urlOrNot, spell: spellUrlOrNot, unreadable: fc.constantFrom<unknown>('none', '/a', 5, {}) },
  time: {
    clean: fc.option(dates),
    spell: spellTimeOrNot,
    unreadable: fc.constantFrom<unknown>('Not Available', 'NaN-NaN-NaN', '2026-02-30T00:00:00Z', 'yes', 0, true),
  },
};

/** The fields of a table that are written alone, and do not decide over their response. */
function lenientFields(table: Fields) {
  return Object.entries(table).flatMap(([name, { wire, kind, isStrict }]) => {
    const found = isStrict ? undefined : kinds[kind];
    return found ? [{ name, field: String(wire), ...found }] : [];
  });
}

type LenientFields = ReturnType<typeof lenientFields>;

const unknownMembers = fc
  .dictionary(fc.stringMatching(/^x_[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
  // As JSON has it, which knows no -0.
  .map((members) => JSON.parse(JSON.stringify(members)) as Record<string, unknown>);

/** Values for the fields, some of which cannot be read. */
const cleanFields = (fields: LenientFields) =>
  fc
    .record({
      values: fc.record(Object.fromEntries(fields.map(({ name, clean }) => [name, clean]))),
      unread: fc.record(Object.fromEntries(fields.map(({ field, unreadable }) => [field, unreadable])), {
        requiredKeys: [],
      }),
      extra: unknownMembers,
    })
    .map(({ values, unread, extra }) => ({
      values: Object.fromEntries(fields.map(({ name, field }) => [name, field in unread ? null : values[name]])),
      extra: { ...extra, ...unread },
    }));

const spellFields = (fields: LenientFields, values: object, extra: Readonly<Record<string, unknown>>, choose: Choose) =>
  Object.fromEntries(
    fields.map(({ name, field, spell }) => [field, extra[field] ?? spell(Object(values)[name] as never, choose)]),
  );

const ofLink = lenientFields(linkFields);

/** The properties whose fields decide over their response, or are written in several fields. */
type OwnOfLink = Pick<Link, 'url' | 'refId' | 'idTypes' | 'userIds' | 'jobs' | 'partnerId'>;

const ownOfLink: { readonly [Name in keyof OwnOfLink]: fc.Arbitrary<Link[Name]> } = {
  url: httpUrls,
  refId: ids.filter((id) => id !== 'list'),
  idTypes: fc.array(fc.record({ country: texts, idType: texts, verificationMethod: texts }), { maxLength: 3 }),
  userIds: fc.uniqueArray(fc.oneof(words, ids), { maxLength: 3 }),
  jobs: fc.record({ total: fc.nat({ max: 9 }), failed: fc.nat(), successful: fc.nat({ max: 2 }) }),
  partnerId: fc.option(ids),
};

const cleanLinks = fc.tuple(fc.record(ownOfLink), cleanFields(ofLink)).map(
  ([own, { values, extra }]) =>
    ({
      ...own,
      ...values,
      linkId: own.refId,
      state: values.disabledAt !== null || 'disabled_at' in extra ? 'disabled' : 'active',
      extra,
    }) as unknown as Link,
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
  const record = {
    ...link.extra,
    ...spellUrl(link.url, choose),
    ...spellIds(link.refId, choose),
    ...spellUsers(link.userIds, choose),
    id_types: spellIdTypes(link.idTypes, choose),
    total_jobs: spellCount(link.jobs.total, choose),
    failed_jobs: spellCount(link.jobs.failed, choose),
    successful_jobs: spellCount(link.jobs.successful, choose),
    partner_id: spellCode(link.partnerId, choose),
    ...spellFields(ofLink, link, link.extra, choose),
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

const ofResult = lenientFields(resultFields);
const ofIdentity = lenientFields(identityFields);

/** Results of real deployments have `Source`; a result without any field would be none. */
const cleanResults = fc
  .record({
    fields: cleanFields(ofResult),
    actions: fc.dictionary(fc.stringMatching(/^[A-Z][a-z_]{1,9}$/), texts, { maxKeys: 3 }),
    partnerParams: fc.option(partnerParams),
  })
  .map(
    ({ fields: { values, extra }, ...own }) =>
      ({ ...values, ...own, extra: { Source: 'WebAPI', ...extra } }) as never as JobResult,
  );

const cleanEntries = fc.tuple(cleanResults, cleanFields(ofIdentity)).map(
  ([result, { values, extra }]) =>
    ({
      ...result,
      identity: Object.values(values).every((value) => value === null) ? null : values,
      extra: { ...result.extra, ...extra },
    }) as never as HistoryEntry,
);

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

function spellResult(result: JobResult, choose: Choose): object {
  const { partnerParams: params } = result;
  return {
    ...result.extra,
    ...spellFields(ofResult, result, result.extra, choose),
    Actions: spellTexts(result.actions, choose),
    PartnerParams:
      params === null
        ? choose<unknown>(null, undefined, [], '')
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

function spellEntry({ identity, ...result }: HistoryEntry, choose: Choose): object {
  const members = spellFields(ofIdentity, identity ?? emptyIdentity, result.extra, choose);
  return shuffled({ ...spellResult(result, choose), ...members }, choose);
}

const emptyIdentity = Object.fromEntries(ofIdentity.map(({ name }) => [name, null]));

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
    const { state, said, history, selfie, signedAt } = clean;
    const complete = state !== 'pending';
    const success = state === 'succeeded';
    // A job that succeeded has no other code.
    const code = success && clean.code !== null ? '2302' : clean.code;
    // A job that succeeded has each of its ids, here or there.
    const spellId = (name: 'userId' | 'jobId', ...spellings: readonly unknown[]) => {
      const mayLeaveOut = !success || said.result?.partnerParams?.[name] === job[name];
      return choose<unknown>(job[name], ...spellings, ...(mayLeaveOut ? [undefined, null, ''] : []));
    };
    const address = selfie && presigned(selfie);
    const entries = history?.map((entry) => spellEntry(entry, choose));
    const record = {
      ...spellSignature(signedAt, choose),
      user_id: spellId('userId'),
      job_id: spellId('jobId', Number(job.jobId)),
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
          ? choose<unknown>(null, undefined, '')
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
