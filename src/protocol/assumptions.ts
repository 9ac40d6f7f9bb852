/**
 * The defaults that fill gaps in the protocol. Maintainers change a default here; users change it with `WireOptions`
 * and the client's options. Two of these defaults are in other files. In `settings.ts`, job status uses the base URL of
 * links if no base URL is set for job status (§4.5). In `date-time.ts`, `findEarliestTime` reads the dates
 * that confirm that a link was disabled (§4.2). Section numbers are those of docs/protocol.md.
 *
 * @module
 */

import { withoutUndefined } from '../runtime/untrusted-objects.js';
import type { OperationName } from './routes.js';

/**
 * Corrections to the assumptions that this package makes about the service. The protocol does not confirm these
 * assumptions. In docs/protocol.md, "What is not known" explains the defaults.
 *
 * @see [§§2 to 5](../../docs/protocol.md#2-resources) of docs/protocol.md
 */
export interface WireOptions {
  /**
   * The brand word in paths and field names, in lower case: `v1/${brand}_links`, `${Brand}JobID`.
   * Default `'hosted'`.
   */
  brand?: string;
  /** The last path segment of the list operation (docs/protocol.md §4.4). Default `'list'`. */
  listMarker?: string;
  /**
   * The number of the first page. With `'auto'`, each walk of the list takes the number of its own first page. Default
   * `'auto'`.
   */
  firstPage?: 'auto' | 0 | 1;
  /**
   * How the timestamp of a link operation is written. A Unix timestamp is sent as a string. With `'epoch-s'` (whole
   * seconds), the signed time of a request is a few seconds in the past. Several requests can then have the same signed
   * time. Default `'iso'`.
   */
  timestampFormat?: 'iso' | 'epoch-ms' | 'epoch-s';
  /**
   * How the timestamp of a job status request is written. A Unix timestamp is sent as a number, and signed as its
   * decimal digits. With `'epoch-s'` (whole seconds), the signed time of a request is a few seconds in the past. Default
   * `'iso'`.
   */
  jobTimestampFormat?: 'iso' | 'epoch-ms' | 'epoch-s';
  /** The name of the field with the signature of a job status request. Default `'sec_key'`. */
  jobSignatureMember?: 'sec_key' | 'signature';
  /**
   * Whether responses repeat the timestamp of their request. If true, a genuine response has the same signature as its
   * request, so the client accepts this signature. Default `false`.
   */
  echoesTimestamp?: boolean;
  /** How `image_links` and `history` are written in a request: `true` or `"true"`. Default `'boolean'`. */
  jobFlags?: 'boolean' | 'string';
  /**
   * Whether the status of a job that succeeded has both ids: `user_id` and `job_id`, each at the top or in
   * `result.PartnerParams`. If true, a status without one of them is rejected with a `HostedResponseError` (`mismatch`).
   * Default `true`.
   */
  namesJob?: boolean;
}

/** {@link WireOptions}, complete. */
export type Wire = Readonly<Required<WireOptions>>;

/**
 * §§2 to 5 do not show the brand word, the list marker, the first page, or the spellings of timestamps and flags. They
 * also do not show whether every status has the ids that §2.4 lists.
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

/** Adds the defaults of the options that are missing or undefined. */
export function completeWire(
  given: { readonly [Name in keyof WireOptions]: WireOptions[Name] | undefined } = {},
): Wire {
  return Object.freeze({ ...assumedWire, ...withoutUndefined(given) });
}

/**
 * §§2, 4.4 and 8 do not show how long these lists may be: the links on a page, the results in a history, the ID types
 * of a link, and the users of a link. One partner sends 1,349 ID types for a link. Of a list with more entries than its
 * limit here, no entry is read.
 */
export const assumedMaxEntries = { links: 10_000, results: 10_000, idTypes: 10_000, users: 100_000 } as const;

/**
 * §4.2 does not show whether a link can be disabled later than now. The response to a request that disables a link may
 * have a date this far ahead of our clock, in ms: clocks and time zones differ.
 */
export const assumedMaxAheadMs = 24 * 60 * 60 * 1000;

/**
 * The signed text is the timestamp, the partner id and this context. No document of the service shows the context (§5).
 */
export const assumedSignatureContext = 'sid_request';

/** §5 does not show how long a signature is valid. */
export const assumedMaxResponseAgeMs = 300_000;

/**
 * §6 does not show how late a callback may be. Its time may be this far in the past or in the future, in ms: two days,
 * because the body is only a hint, and job status says what holds now.
 */
export const assumedMaxHintAgeMs = 2 * 24 * 60 * 60 * 1000;

/**
 * §6 does not show how many jobs end at the same time. Callbacks with the same signed timestamp may have at most
 * `perTime` different jobs in hand at once, or at most `perSecond` if the timestamp is in whole seconds.
 */
export const assumedMaxJobs = { perTime: 8, perSecond: 1_000 };

/**
 * §6 does not show which results are interim, besides results whose `IsFinalResult` is false. `0814` means "under
 * review".
 */
export const assumedInterimCodes: ReadonlySet<string> = new Set(['0814']);

/**
 * §§4.5 and 6: a status is signed when it is served, but what it says may be this old, in ms, because job status lags
 * behind callbacks. So the client waits this long before it asks again, and does not order two statuses by their signed
 * times if these are not further apart.
 */
export const assumedSettlingMs = 2_000;

/** §6: a status that was signed longer than this, in ms, before a callback does not answer it. */
export const assumedMaxHintLeadMs = 10_000;

/**
 * §6 does not show whether and when the service redelivers a callback. Our response asks the service to wait this long,
 * in seconds.
 */
export const assumedRedeliverySeconds = 30;

/**
 * §4 does not show which operations may run twice without harm. The operations `links.get`, `links.list` and
 * `jobs.status` change nothing, although they are POST requests. An update sets values, so sending it twice has the
 * same effect as sending it once. A second create would make a second link.
 */
export const assumedRepeatable: Readonly<Record<OperationName, boolean>> = {
  'links.create': false,
  'links.update': true,
  'links.get': true,
  'links.list': true,
  'jobs.status': true,
};

/**
 * §7 does not show which statuses besides 200 occur. After a status in this set, a call is retried if its operation may
 * run twice (`assumedRepeatable`). But if a service code gives the response another meaning, the code decides.
 * 520 to 530 are those of Cloudflare.
 */
export const assumedTransientStatuses: ReadonlySet<number> = new Set([
  408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 528, 529, 530,
]);

/** §7: what a service code means, in the response of any operation. */
export type CodeMeaning = 'server' | 'authentication' | 'not_found' | 'api';

/**
 * §7 lists only the codes of job status. Deployments use the same last two digits for link operations (22xx). There is
 * one exception: 2204 means a wrong signature, but 2304 means that there is no such job.
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

/**
 * §7 lists 2302 for "no error", and no other code of a job that succeeded. A status that says the job succeeded, but has
 * a code outside this set, is rejected. A code may be missing.
 */
export const assumedSuccessCodes: ReadonlySet<string> = new Set(['2302']);

/** §7: if a response with status 429 has this code, an ID number is blocked, and waiting does not help. */
export const assumedBlockedCode = '2222';

/** §8 shows no rate limit. If `Retry-After` asks for a longer wait than this, in ms, the call rejects at once. */
export const assumedMaxRetryAfterMs = 60_000;

/** §8: `Retry-After` delays the next poll of a wait by at most this many ms. */
export const assumedMaxHoldMs = 60 * 60 * 1000;

/**
 * The protocol shows no header with the id of a request. The client uses the first of these headers that a response
 * has.
 */
export const assumedRequestIdHeaders: readonly string[] = [
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
  'x-amz-apigw-id',
  'x-correlation-id',
];
