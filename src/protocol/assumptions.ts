/**
 * Every default that fills a gap of the protocol. A guess is changed here, or by a user through
 * `WireOptions` and the client's options. One is structural: `settings.ts` takes the links' URL for job status
 * where none is given (§4.5). Section numbers are those of docs/protocol.md.
 *
 * @module
 */

import type { OperationName } from './routes.js';

/**
 * Corrections to what this package assumes where the protocol is silent. The defaults are explained in
 * docs/protocol.md, "What is not known".
 *
 * @see §§2 to 5 of docs/protocol.md
 */
export interface WireOptions {
  /**
   * The brand word in paths and field names, in lower case: `v1/${brand}_links`, `${Brand}JobID`.
   * Default `'hosted'`.
   */
  brand?: string;
  /** The last path segment of the list operation (docs/protocol.md §4.4). Default `'list'`. */
  listMarker?: string;
  /** The number of the first page. `'auto'` learns it from each first page. Default `'auto'`. */
  firstPage?: 'auto' | 0 | 1;
  /**
   * How the timestamp of a link operation is written; an epoch travels as a string. In whole seconds
   * (`'epoch-s'`), requests are signed with a time two to five seconds ago, and several can share one.
   * Default `'iso'`.
   */
  timestampFormat?: 'iso' | 'epoch-ms' | 'epoch-s';
  /**
   * How the timestamp of a job status request is written; an epoch travels as a number and is
   * signed as its decimal digits. In whole seconds (`'epoch-s'`), requests are signed with a time two to
   * five seconds ago, and the polls of a wait with one up to ten seconds older. Default `'iso'`.
   */
  jobTimestampFormat?: 'iso' | 'epoch-ms' | 'epoch-s';
  /** The field of the signature of a job status request. Default `'sec_key'`. */
  jobSignatureMember?: 'sec_key' | 'signature';
  /**
   * Whether responses have the timestamp of their request, so that they honestly have the signature of
   * the request, too. Default `false`.
   */
  echoesTimestamp?: boolean;
  /** How `image_links` and `history` are written in a request: `true` or `"true"`. Default `'boolean'`. */
  jobFlags?: 'boolean' | 'string';
  /**
   * Whether the status of a job that succeeded has its id, at the top or in `result.PartnerParams`: one
   * without it is then a `HostedResponseError` (`mismatch`). Default `true`.
   */
  namesJob?: boolean;
}

/** {@link WireOptions}, complete. */
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
 * shown; 1,349 ID types were seen. A longer list is rejected before any of its entries is checked.
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
 * §6: how many jobs end at the same time is not shown. Callbacks with one signed timestamp may be about
 * `perTime` jobs, or about `perSecond` where the timestamp is in whole seconds.
 */
export const assumedMaxJobs = { perTime: 8, perSecond: 1_000 };

/** §6: which results are interim, beside those whose `IsFinalResult` is false. `0814` is under review. */
export const assumedInterimCodes: ReadonlySet<string> = new Set(['0814']);

/** §6: whether job status has a result before its callback is sent is not shown. It is fetched again after this long, in ms. */
export const assumedSettlingMs = 2_000;

/** §6: whether and when the service redelivers is not shown. It is asked to wait this long, in seconds. */
export const assumedRedeliverySeconds = 30;

/** §6: where callbacks of any age are accepted, they are remembered this long, in ms: a day. */
export const assumedMemoryMs = 24 * 60 * 60 * 1000;

/**
 * §4: which operations may run twice without harm is not shown. Get, list and job status read, though
 * they are POST; update sets values. A second create would make a second link.
 */
export const assumedRepeatable: Readonly<Record<OperationName, boolean>> = {
  'links.create': false,
  'links.update': true,
  'links.get': true,
  'links.list': true,
  'jobs.status': true,
};

/** §7: which statuses besides 200 occur is not shown. These are retried. */
export const assumedTransientStatuses: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** §7: what a service code means, in the response of any operation. */
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

/** §7: with status 429, an ID number is blocked: waiting does not change that. */
export const assumedBlockedCode = '2222';

/** §8: no rate limit is shown. Where `Retry-After` asks for a longer wait than this, the call rejects at once. */
export const assumedMaxRetryAfterMs = 60_000;

/** Not shown: a header that names the request. The first of these that a response has is used. */
export const assumedRequestIdHeaders: readonly string[] = [
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
  'x-amz-apigw-id',
  'x-correlation-id',
];
