/**
 * Every default that fills a gap the protocol leaves open. A guess is changed here, or by a user
 * through `WireOptions` and the client's options; nowhere else is one made. Section numbers are
 * those of docs/protocol.md.
 *
 * @module
 */

import type { OperationName } from './routes.js';

/**
 * Every guess this package makes where the protocol is silent, to be changed in one place. What is
 * assumed when a member is left out stands in `assumptions.ts` and in docs/protocol.md, "What is
 * not known".
 *
 * @see §§2 to 5 of docs/protocol.md
 */
export interface WireOptions {
  /**
   * The brand word in path and member names, in small letters: `v1/${brand}_links`, `${Brand}JobID`.
   * Default `'hosted'`.
   */
  brand?: string;
  /** The last path segment of the list operation (docs/protocol.md §4.4). Default `'list'`. */
  listMarker?: string;
  /** The number of the first page. `'auto'` learns it from each first page. Default `'auto'`. */
  firstPage?: 'auto' | 0 | 1;
  /**
   * How the timestamp of a link operation is written; an epoch travels as a string. In whole seconds
   * (`'epoch-s'`), requests are signed for two to five seconds earlier, and several of them alike.
   * Default `'iso'`.
   */
  timestampFormat?: 'iso' | 'epoch-ms' | 'epoch-s';
  /**
   * How the timestamp of a job status request is written; an epoch travels as a number and is
   * signed as its decimal digits. In whole seconds (`'epoch-s'`), requests are signed for two to five
   * seconds earlier, and the polls of a wait for up to ten seconds more. Default `'iso'`.
   */
  jobTimestampFormat?: 'iso' | 'epoch-ms' | 'epoch-s';
  /** The member that carries the signature of a job status request. Default `'sec_key'`. */
  jobSignatureMember?: 'sec_key' | 'signature';
  /**
   * Whether the service answers with the timestamp of the request, so that our own signature
   * coming back is honest. Default `false`.
   */
  echoesTimestamp?: boolean;
  /** How `image_links` and `history` are asked for. Default `'boolean'`. */
  jobFlags?: 'boolean' | 'string';
  /**
   * Whether the status of a job that succeeded names the job, at its top or in `result.PartnerParams`: one
   * that does not is then refused (`mismatch`). Default `true`.
   */
  namesJob?: boolean;
}

/** {@link WireOptions} with nothing left open. */
export type Wire = Readonly<Required<WireOptions>>;

/**
 * §§2 to 5: brand word, list marker, first page, timestamp and flag spellings are not shown, nor whether
 * every status has the ids that §2.4 lists.
 */
export const assumedWire: Wire = {
  brand: 'hosted',
  listMarker: 'list',
  firstPage: 'auto',
  timestampFormat: 'iso',
  jobTimestampFormat: 'iso',
  jobSignatureMember: 'sec_key',
  echoesTimestamp: false,
  jobFlags: 'boolean',
  namesJob: true,
};

/**
 * §§2, 4.4, 8: how many links a page has, results a history, and ID types or users a link, is not
 * shown; 1,349 ID types were seen. A list of more entries is refused before one of them is looked at.
 */
export const assumedMaxEntries = { links: 10_000, results: 10_000, idTypes: 10_000, users: 100_000 } as const;

/** §5: what follows timestamp and partner id in the signed text is not shown. */
export const assumedSignatureContext = 'sid_request';

/** §5: the validity window of a signature is not shown. */
export const assumedMaxResponseAgeMs = 300_000;

/** §6: how late a callback may be is not shown. */
export const assumedMaxCallbackAgeMs = 300_000;

/** §6: how late, in ms, a callback may be that job status confirms: two days. */
export const assumedMaxHintAgeMs = 2 * 24 * 60 * 60 * 1000;

/**
 * §6: how many jobs end at one time is not shown. The callbacks under one signed time may be about so many
 * jobs, or about so many where that time is written in whole seconds.
 */
export const assumedMaxJobs = { perTime: 8, perSecond: 1_000 };

/** §6: which results are interim, beside those that say so. `0814` is under review. */
export const assumedInterimCodes: ReadonlySet<string> = new Set(['0814']);

/** §6: whether job status knows a result before its callback is sent is not shown. It is asked again after this long, in ms. */
export const assumedSettlingMs = 2_000;

/** §6: whether and when the service delivers again is not shown. It is asked to wait this long, in seconds. */
export const assumedRedeliverySeconds = 30;

/** §6: a callback that may come at any age is remembered this long, in ms: a day. */
export const assumedMemoryMs = 24 * 60 * 60 * 1000;

/**
 * §4: which operations may run twice without harm is not shown. Get, list and job status read,
 * though they are POST; update sets values. Create makes a second link.
 */
export const assumedRepeatable: Readonly<Record<OperationName, boolean>> = {
  'links.create': false,
  'links.update': true,
  'links.get': true,
  'links.list': true,
  'jobs.status': true,
};

/** §7: which statuses besides 200 occur is not shown. These are worth another try. */
export const assumedTransientStatuses: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** §7: what a service code says, whatever operation answered with it. */
export type CodeMeaning = 'server' | 'authentication' | 'not_found' | 'api';

/**
 * §7 lists the codes of job status alone. Deployments use the same last two digits for link
 * operations (22xx), with one exception: 2204 is about authentication, 2304 about a job.
 */
export const assumedCodes: ReadonlyMap<string, CodeMeaning> = new Map([
  ['2201', 'server'],
  ['2301', 'server'],
  ['2203', 'api'],
  ['2303', 'api'],
  ['2204', 'authentication'],
  ['2205', 'authentication'],
  ['2305', 'authentication'],
  ['2304', 'not_found'],
  ['2213', 'api'],
  ['2313', 'api'],
]);

/** §7: with status 429, a block on an ID number that no waiting lifts. */
export const assumedBlockedCode = '2222';

/** §8: no rate limit is shown. A call that is asked by `Retry-After` to wait longer than this rejects at once. */
export const assumedMaxRetryAfterMs = 60_000;

/** Not shown: a header that names the request. The first of these that is there is taken. */
export const assumedRequestIdHeaders: readonly string[] = [
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
  'x-amz-apigw-id',
  'x-correlation-id',
];
