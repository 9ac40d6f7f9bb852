/**
 * Everything that can go wrong, as one small tree: what the caller gave, what the way to the service
 * did, what the service refused (`service-errors.ts`), and what of its answers cannot be used or believed.
 *
 * @module
 */

import type { JobRef, PendingJob } from '../jobs/types.js';
import { HostedError, type Issue, maxIssues, type Particulars, type ReceivedAnswer } from './hosted-error.js';
import type {
  HostedApiError,
  HostedAuthenticationError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedServerError,
} from './service-errors.js';

/** Something the caller gave is wrong. */
abstract class InputError extends HostedError {
  /** Every problem; of more than 20, the first 20. */
  readonly issues: readonly Issue[];

  /** @internal */
  constructor(message: string, issues: readonly Issue[], particulars?: Particulars) {
    super(message, particulars);
    this.issues = issues.slice(0, maxIssues);
  }

  /** Adds `issues` to what every error shows. */
  override toJSON(): object {
    return { ...super.toJSON(), issues: this.issues };
  }
}

/**
 * The client cannot work with its options, with its signer, which threw or signed with no text, or with its
 * clock, which told no time: all problems at once.
 */
export class HostedConfigError extends InputError {
  /** `'HostedConfigError'`, in minified code too. */
  override get name(): string {
    return 'HostedConfigError';
  }
  /** The code of this class. */
  readonly code = 'config';
}

/** A call's input is wrong: all problems at once. Nothing was sent. */
export class HostedValidationError extends InputError {
  /** `'HostedValidationError'`, in minified code too. */
  override get name(): string {
    return 'HostedValidationError';
  }
  /** The code of this class. */
  readonly code = 'validation';
}

/**
 * No connection, or one that broke: `outcome` tells whether the request can have arrived. Where the
 * platform named what happened, `cause.code` has the name, `ECONNREFUSED` or the like.
 */
export class HostedConnectionError extends HostedError {
  /** `'HostedConnectionError'`, in minified code too. */
  override get name(): string {
    return 'HostedConnectionError';
  }
  /** The code of this class. */
  readonly code = 'connection';
}

/** Time ran out: of one attempt (also when the service says so, by status 408) or of the call. */
export class HostedTimeoutError extends HostedError {
  /** `'HostedTimeoutError'`, in minified code too. */
  override get name(): string {
    return 'HostedTimeoutError';
  }
  /** The code of this class. */
  readonly code = 'timeout';
  /** Whose time: `'attempt'` that of `timeoutMs`, `'total'` that of `totalTimeoutMs`. */
  readonly phase: 'attempt' | 'total';
  readonly #retryAfterMs: number | null;

  /** @internal */
  constructor(
    message: string,
    phase: 'attempt' | 'total',
    particulars?: Particulars,
    retryAfterMs: number | null = null,
  ) {
    super(message, particulars);
    this.phase = phase;
    this.#retryAfterMs = retryAfterMs;
  }

  /**
   * How long the service asks to wait, where it was it that timed out.
   *
   * @internal
   */
  get retryAfterMs(): number | null {
    return this.#retryAfterMs;
  }

  /** Adds `phase` to what every error shows. */
  override toJSON(): object {
    return { ...super.toJSON(), phase: this.phase };
  }
}

/**
 * Why an answer cannot be used; {@link HostedResponseError} says what each one means.
 *
 * @inline
 */
export type UnusableReason = 'malformed' | 'shape' | 'mismatch' | 'too_large' | 'redirect' | 'paging';

/**
 * The answer cannot be used: not JSON (`malformed`), of another shape (`shape`), about something
 * else than was asked (`mismatch`), over `maxResponseBytes`, or over `maxBytes` where it is a callback
 * (`too_large`), a redirect (never followed: a signature is as good as a key to whoever gets it), or
 * pages that do not advance (`paging`).
 *
 * @see §4.4 and §5 of docs/protocol.md
 */
export class HostedResponseError extends HostedError {
  /** `'HostedResponseError'`, in minified code too. */
  override get name(): string {
    return 'HostedResponseError';
  }
  /** The code of this class. */
  readonly code = 'response';
  readonly #answer: ReceivedAnswer | null;
  /** What is wrong with the answer. */
  readonly reason: UnusableReason;
  /** The HTTP status; null where there was no HTTP answer. */
  readonly status: number | null;
  /** Where the answer is wrong, by paths, never by values; of more than 20 places, the first 20. */
  readonly issues: readonly Issue[];

  /** @internal */
  constructor(
    message: string,
    reason: UnusableReason,
    issues: readonly Issue[],
    answer: ReceivedAnswer | null,
    particulars?: Particulars,
  ) {
    super(message, particulars);
    this.#answer = answer;
    this.reason = reason;
    this.status = answer?.status ?? null;
    this.issues = issues.slice(0, maxIssues);
  }

  /**
   * Gives the body as received, as far as it was read. It may hold personal data: not for logs.
   *
   * @returns The text; empty for a redirect and for a callback.
   */
  rawBody(): string {
    return this.#answer?.text ?? '';
  }

  /** Adds `reason`, `status` and `issues` to what every error shows. */
  override toJSON(): object {
    const { reason, status, issues } = this;
    return { ...super.toJSON(), reason, status, issues };
  }
}

/**
 * Why a signed answer is not believed; {@link HostedSignatureError} says what each one means.
 *
 * @inline
 */
export type DisbeliefReason = 'missing' | 'malformed' | 'mismatch' | 'unkeyed' | 'stale' | 'reflected' | 'replayed';

/**
 * An answer or a callback is not believed: it carries no signature (`missing`), none that can be
 * checked (`malformed`), one by another key or over another timestamp or partner (`mismatch`), a
 * bare digest that anyone can compute (`unkeyed`), one that is too old or too new (`stale`), our
 * own (`reflected`), or one that came before (`replayed`): with another body, for more jobs than one
 * signature may be about, or with the same body that is still being handled.
 *
 * @see §5 of docs/protocol.md
 */
export class HostedSignatureError extends HostedError {
  /** `'HostedSignatureError'`, in minified code too. */
  override get name(): string {
    return 'HostedSignatureError';
  }
  /** The code of this class. */
  readonly code = 'signature';
  /** Why it is not believed. */
  readonly reason: DisbeliefReason;

  /** @internal */
  constructor(message: string, reason: DisbeliefReason, particulars?: Particulars) {
    super(message, particulars);
    this.reason = reason;
  }

  /** Adds `reason` to what every error shows. */
  override toJSON(): object {
    return { ...super.toJSON(), reason: this.reason };
  }
}

/** The job was still pending at the deadline. `job` is all it takes to go on waiting later. */
export class HostedPollTimeoutError extends HostedError {
  /** `'HostedPollTimeoutError'`, in minified code too. */
  override get name(): string {
    return 'HostedPollTimeoutError';
  }
  /** The code of this class. */
  readonly code = 'poll_timeout';
  readonly #job: JobRef;
  readonly #lastStatus: PendingJob | null;
  /** How long was waited, in milliseconds. */
  readonly elapsedMs: number;

  /** @internal */
  constructor(
    message: string,
    wait: { readonly job: JobRef; readonly lastStatus: PendingJob | null; readonly elapsedMs: number },
    particulars?: Particulars,
  ) {
    super(message, particulars);
    this.#job = wait.job;
    this.#lastStatus = wait.lastStatus;
    this.elapsedMs = wait.elapsedMs;
  }

  /** The job that was waited for. */
  get job(): JobRef {
    return this.#job;
  }

  /** The last status seen; null where no poll succeeded. */
  get lastStatus(): PendingJob | null {
    return this.#lastStatus;
  }

  /** Adds `elapsedMs` to what every error shows. */
  override toJSON(): object {
    return { ...super.toJSON(), elapsedMs: this.elapsedMs };
  }
}

/** Any error of this package; `code` tells which, and narrows the type. */
export type AnyHostedError =
  | HostedConfigError
  | HostedValidationError
  | HostedConnectionError
  | HostedTimeoutError
  | HostedApiError
  | HostedAuthenticationError
  | HostedNotFoundError
  | HostedRateLimitError
  | HostedServerError
  | HostedResponseError
  | HostedSignatureError
  | HostedPollTimeoutError;

/** The `code` of any error of this package. */
export type HostedErrorCode = AnyHostedError['code'];

/**
 * Tells whether a caught value is an error of this package; `code` then narrows it.
 *
 * @param value - Whatever was caught.
 * @returns True for an error of this copy of the package; another copy has classes of its own.
 *
 * @example Tell a link that was not made from one that may have been
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
  return value instanceof HostedError;
}
