/**
 * The errors that the client itself detects: invalid input, broken connections, timeouts, and responses that cannot be
 * used or trusted. The errors that the service responds with are in `service-errors.ts`.
 *
 * @module
 */

import type { JobRef, PendingJob } from '../jobs/types.js';
import {
  type ErrorFacts,
  HostedError,
  type Issue,
  maxIssues,
  nameClass,
  type ReceivedResponse,
} from './hosted-error.js';
import {
  listIssues,
  type SignatureReason,
  signatureMessages,
  type UnusableReason,
  unusableMessages,
} from './reasons.js';
import {
  HostedApiError,
  HostedAuthenticationError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedServerError,
} from './service-errors.js';

/** An option or an input of the caller is invalid. */
abstract class InputError extends HostedError {
  /** The problems: at most the first 20. */
  readonly issues: readonly Issue[];

  /** @internal */
  constructor(issues: readonly Issue[], facts: ErrorFacts) {
    super(listIssues(issues), facts);
    this.issues = issues.slice(0, maxIssues);
  }
}

/**
 * An option of the client is invalid, or the client's signer or clock failed. The error lists all problems at once. A
 * signer fails if it throws, or if `sign` does not return a non-empty string. A clock fails if it does not return a
 * finite number.
 */
export class HostedConfigError extends InputError {
  readonly code = 'config';
}

/** The input of a call is invalid. The error lists all problems at once. Nothing was sent. */
export class HostedValidationError extends InputError {
  readonly code = 'validation';
}

/**
 * The client could not connect, or the connection broke: `outcome` says whether the request may have arrived. If the
 * platform names the reason, `cause.code` has that name, such as `ECONNREFUSED`. The error is not retryable if a
 * certificate was rejected, because the certificate stays the same.
 */
export class HostedConnectionError extends HostedError {
  readonly code = 'connection';
}

/** The time limit of an attempt or of the call was reached, or the service responded with status 408. */
export class HostedTimeoutError extends HostedError {
  readonly code = 'timeout';
  /** Which limit was reached: `'attempt'` is `timeoutMs`, `'total'` is `totalTimeoutMs`. */
  readonly phase: 'attempt' | 'total';
  /** The limit, in milliseconds; null after status 408, because the service's own limit is not known. */
  readonly timeoutMs: number | null;
  readonly #retryAfterMs: number | null;

  /** @internal */
  constructor(
    why: string,
    limit: Pick<HostedTimeoutError, 'phase' | 'timeoutMs'> & Partial<Pick<HostedTimeoutError, 'retryAfterMs'>>,
    facts: ErrorFacts,
  ) {
    super(why, facts);
    this.phase = limit.phase;
    this.timeoutMs = limit.timeoutMs;
    this.#retryAfterMs = limit.retryAfterMs ?? null;
  }

  /**
   * How long the service asks the client to wait after status 408, in milliseconds; null if it did not respond with
   * 408, or does not ask.
   *
   * @internal
   */
  get retryAfterMs(): number | null {
    return this.#retryAfterMs;
  }
}

/**
 * The response cannot be used; `reason` says why:
 * - `'malformed'`: it is not JSON that the client can read;
 * - `'shape'`: the JSON does not have the expected shape;
 * - `'mismatch'`: it does not match the request, for example because it names another job;
 * - `'too_large'`: it is larger than `maxResponseBytes`, or a callback is larger than `maxBytes`;
 * - `'redirect'`: it is a redirect. A redirect is not followed, because its target could use the signature;
 * - `'paging'`: it is not the expected page, for example because it repeats an earlier page.
 *
 * @see [§4.4](../../docs/protocol.md#44-list-links) and [§5](../../docs/protocol.md#5-authentication) of
 *   docs/protocol.md
 */
export class HostedResponseError extends HostedError {
  readonly code = 'response';
  readonly #response: ReceivedResponse | null;
  /** Why the response cannot be used. */
  readonly reason: 'malformed' | 'shape' | 'mismatch' | 'too_large' | 'redirect' | 'paging';
  /** The HTTP status; null for a callback. */
  readonly status: number | null;
  /** The problems of the response: at most the first 20. Each has a path, but never a value. */
  readonly issues: readonly Issue[];

  /** @internal */
  constructor(
    reason: UnusableReason,
    issues: readonly Issue[],
    facts: ErrorFacts,
    response: ReceivedResponse | null = null,
    why: string = unusableMessages[reason],
  ) {
    const where = issues.length > 0 ? ` (${listIssues(issues)})` : '';
    super(`${facts.operation ? 'the response cannot be used: ' : ''}${why}${where}`, facts);
    this.#response = response;
    this.reason = reason;
    this.status = response?.status ?? null;
    this.issues = issues.slice(0, maxIssues);
  }

  /**
   * Gives the part of the body that was read, unchanged. It may contain personal data: do not log it.
   *
   * @returns The body as a string; empty for a redirect and for a callback.
   */
  rawBody(): string {
    return this.#response?.text ?? '';
  }
}

/**
 * A response or a callback cannot be trusted. `reason` says what is wrong with its signature:
 * - `'missing'`: there is no signature;
 * - `'malformed'`: the signature or the timestamp cannot be read;
 * - `'mismatch'`: the signature was made with another key, or for another timestamp or partner id; or, if `retryable` is
 *   true, it was used for more jobs at once than `maxJobsPerSignature` or a tracker allows;
 * - `'unkeyed'`: it is a digest that anyone can compute without a key;
 * - `'stale'`: its timestamp is too far in the past or in the future, or it is older than what was seen of its job;
 * - `'reflected'`: it covers the very timestamp of its own request, so it may be our own signature, sent back.
 *
 * @see [§5](../../docs/protocol.md#5-authentication) of docs/protocol.md
 */
export class HostedSignatureError extends HostedError {
  readonly code = 'signature';
  /** Why the response or callback cannot be trusted. */
  readonly reason: 'missing' | 'malformed' | 'mismatch' | 'unkeyed' | 'stale' | 'reflected';

  /** @internal */
  constructor(reason: SignatureReason, facts: ErrorFacts, why: string = signatureMessages[reason]) {
    super(`${facts.operation ? 'the response cannot be trusted: ' : ''}${why}`, facts);
    this.reason = reason;
  }
}

/**
 * The deadline of a wait has passed, and no poll returned a final status. A callback handler also passes this error to
 * `onError`, if the callback is marked as final but its job is still pending. To wait again later, you only need `job`.
 */
export class HostedPollTimeoutError extends HostedError {
  readonly code = 'poll_timeout';
  readonly #wait: Pick<HostedPollTimeoutError, 'job' | 'lastStatus'>;
  /** How long the client waited, in milliseconds. */
  readonly elapsedMs: number;

  /** @internal */
  constructor(why: string, wait: Pick<HostedPollTimeoutError, 'job' | 'lastStatus' | 'elapsedMs'>, facts: ErrorFacts) {
    super(why, facts);
    this.#wait = wait;
    this.elapsedMs = wait.elapsedMs;
  }

  /** The job that the client waited for. */
  get job(): JobRef {
    return this.#wait.job;
  }

  /** The last status that was received; null if no poll succeeded. */
  get lastStatus(): PendingJob | null {
    return this.#wait.lastStatus;
  }
}

const errorClasses = {
  HostedConfigError,
  HostedValidationError,
  HostedConnectionError,
  HostedTimeoutError,
  HostedApiError,
  HostedAuthenticationError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedServerError,
  HostedResponseError,
  HostedSignatureError,
  HostedPollTimeoutError,
};

for (const [name, errorClass] of Object.entries(errorClasses)) nameClass(errorClass, name);

/** Any error of this package. A check of `code` narrows the type. */
export type AnyHostedError = InstanceType<(typeof errorClasses)[keyof typeof errorClasses]>;

/** The `code` of any error of this package. */
export type HostedErrorCode = AnyHostedError['code'];

/**
 * Whether a caught value is an error of this package. A check of `code` then narrows the type.
 *
 * @param value - The caught value.
 * @returns True for an error of this copy of the package. Another copy has its own classes, so its errors give false.
 *
 * @example Find out whether the link may exist after an error
 * ```ts
 * try {
 *   await client.links.create(newLink);
 * } catch (error) {
 *   if (!isHostedError(error)) throw error;
 *   if (error.code === 'validation') console.error(error.issues);
 *   if (error.mayHaveActed) console.error('The link may exist');
 * }
 * ```
 */
export function isHostedError(value: unknown): value is AnyHostedError {
  try {
    return value instanceof HostedError;
  } catch {
    // A proxy may throw when it is read.
    return false;
  }
}
