/**
 * Everything that can go wrong, as one small tree. An error tells a program what happened by its
 * `code` and `outcome`, a person by its message; keys, signatures, bodies and personal data are in
 * neither. What a caller may want of an answer is behind methods, over private fields that
 * neither inspection nor JSON reaches.
 *
 * @module
 */

import type { JobRef, PendingJob } from './jobs/types.js';
import type { OperationName } from './routes.js';

/**
 * What became of the request:
 * - `'not_sent'`: the service cannot have seen it;
 * - `'refused'`: it answered with an error;
 * - `'answered'`: it answered with something that cannot be used;
 * - `'unknown'`: it may or may not have acted.
 *
 * After `'answered'` and `'unknown'`, a link that was to be created may exist. After a `'refused'` of
 * status 408 or 5xx it may too, as whatever stands before the service can say so; `retryable` is then
 * false, and the message says how to look for the link.
 */
export type Outcome = 'not_sent' | 'refused' | 'answered' | 'unknown';

/** One problem with one member; never its value where that may be personal or secret. */
export interface Issue {
  /** Where: `idTypes[0].country`; empty for the whole. */
  readonly path: string;
  /** What would be right. */
  readonly message: string;
}

/** The facts every error carries. */
export interface Particulars {
  readonly operation?: OperationName | null;
  readonly outcome?: Outcome;
  readonly attempts?: number;
  readonly requestId?: string | null;
  readonly retryable?: boolean;
}

/** An answer as it came, for errors that keep it behind methods. */
export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const nodeInspect: unique symbol = Symbol.for('nodejs.util.inspect.custom') as typeof nodeInspect;

/**
 * What every error of this package is. JSON and inspection show an allow-list of members: no key,
 * signature, body or personal datum, hidden members counted.
 */
export abstract class HostedError extends Error {
  /** The kind of error, stable across versions and minification. */
  abstract readonly code: string;
  /** The operation that failed; null outside of one. */
  readonly operation: OperationName | null;
  /** What became of the request. */
  readonly outcome: Outcome;
  /** How many attempts were made; of a wait, how many polls. 0 where nothing was tried. */
  readonly attempts: number;
  /** The id the service gave the last request; null where it gave none. */
  readonly requestId: string | null;
  /** Whether the same call may be made again without harm and may then succeed. */
  readonly retryable: boolean;

  /** @internal */
  constructor(message: string, particulars: Particulars = {}, options?: ErrorOptions) {
    super(message, options);
    this.operation = particulars.operation ?? null;
    this.outcome = particulars.outcome ?? 'not_sent';
    this.attempts = particulars.attempts ?? 0;
    this.requestId = particulars.requestId ?? null;
    this.retryable = particulars.retryable ?? false;
  }

  /**
   * Gives the allow-list of members that JSON and log lines show.
   *
   * @returns Name, code, message, operation, outcome, attempts, request id and `retryable`; each class
   *   adds what is its own and fit to be shown.
   */
  toJSON(): object {
    const { name, code, message, operation, outcome, attempts, requestId, retryable } = this;
    return { name, code, message, operation, outcome, attempts, requestId, retryable };
  }

  // Node's inspect can be told to call getters; those of an error may answer with personal data.
  /** @internal */
  [nodeInspect](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    const { name: _name, message: _message, ...facts } = this.toJSON() as Record<string, unknown>;
    const cause = this.cause === undefined ? {} : { cause: this.cause };
    return `${this.stack ?? `${this.name}: ${this.message}`} ${inspect({ ...facts, ...cause }, options)}`;
  }
}

/** Something the caller gave is wrong. */
abstract class InputError extends HostedError {
  /** Every problem. */
  readonly issues: readonly Issue[];

  /** @internal */
  constructor(message: string, issues: readonly Issue[], particulars?: Particulars) {
    super(message, particulars);
    this.issues = issues;
  }

  /** Adds `issues` to what every error shows. */
  override toJSON(): object {
    return { ...super.toJSON(), issues: this.issues };
  }
}

/**
 * The client cannot work with its options, or with its signer, which threw or signed with no text:
 * all problems at once.
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

/** What the service said when it refused. */
export interface Refusal extends ReceivedAnswer {
  readonly serviceCode: string | null;
  readonly serviceMessage: string | null;
  readonly retryAfterMs: number | null;
}

/** The service answered with an error (docs/protocol.md §7). */
abstract class ServiceAnswer extends HostedError {
  readonly #refusal: Refusal;
  /** The HTTP status. */
  readonly status: number;
  /** The service's own code, as text; null where it sent none. */
  readonly serviceCode: string | null;
  /** How long the service asks to wait, in milliseconds, however long that is; null where it does not ask. */
  readonly retryAfterMs: number | null;

  /** @internal */
  constructor(message: string, refusal: Refusal, particulars?: Particulars) {
    super(message, particulars);
    this.#refusal = refusal;
    this.status = refusal.status;
    this.serviceCode = refusal.serviceCode;
    this.retryAfterMs = refusal.retryAfterMs;
  }

  /** The service's own words; null where it found none. They may hold personal data: not for logs. */
  get serviceMessage(): string | null {
    return this.#refusal.serviceMessage;
  }

  /**
   * Gives a header of the answer.
   *
   * @param name - The header's name, in small or capital letters.
   * @returns Its value; null where the answer has no such header.
   */
  header(name: string): string | null {
    return this.#refusal.headers.get(name);
  }

  /**
   * Gives the answer's body as received, up to 64 KiB of it where the status is an error's. It may hold
   * personal data: not for logs.
   *
   * @returns The text, as far as it was read.
   */
  rawBody(): string {
    return this.#refusal.text;
  }

  /** Adds `status`, `serviceCode` and `retryAfterMs` to what every error shows. */
  override toJSON(): object {
    const { status, serviceCode, retryAfterMs } = this;
    return { ...super.toJSON(), status, serviceCode, retryAfterMs };
  }
}

/**
 * The service refused the request, and would refuse it again: statuses 4xx that no other class is for,
 * codes 2203, 2213, 2303 and 2313, or an `error` in an answer of status 2xx (docs/protocol.md §7).
 */
export class HostedApiError extends ServiceAnswer {
  /** `'HostedApiError'`, in minified code too. */
  override get name(): string {
    return 'HostedApiError';
  }
  /** The code of this class. */
  readonly code = 'api';
}

/**
 * The service does not accept the signature: statuses 401 and 403, codes 2204, 2205 and 2305. A key of
 * the other environment looks like this too (docs/protocol.md §5, §7).
 */
export class HostedAuthenticationError extends ServiceAnswer {
  /** `'HostedAuthenticationError'`, in minified code too. */
  override get name(): string {
    return 'HostedAuthenticationError';
  }
  /** The code of this class. */
  readonly code = 'authentication';
}

/** There is no such link or job: status 404, code 2304 (docs/protocol.md §7). */
export class HostedNotFoundError extends ServiceAnswer {
  /** `'HostedNotFoundError'`, in minified code too. */
  override get name(): string {
    return 'HostedNotFoundError';
  }
  /** The code of this class. */
  readonly code = 'not_found';
}

/**
 * Too many requests: status 429. Not retryable with code 2222, a block of an ID number that no waiting
 * lifts. The protocol shows no limits; see assumptions.ts.
 */
export class HostedRateLimitError extends ServiceAnswer {
  /** `'HostedRateLimitError'`, in minified code too. */
  override get name(): string {
    return 'HostedRateLimitError';
  }
  /** The code of this class. */
  readonly code = 'rate_limit';
}

/** The service is in trouble: statuses 5xx, codes 2201 and 2301 (docs/protocol.md §7). */
export class HostedServerError extends ServiceAnswer {
  /** `'HostedServerError'`, in minified code too. */
  override get name(): string {
    return 'HostedServerError';
  }
  /** The code of this class. */
  readonly code = 'server';
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
  /** Where the answer is wrong, by paths, never by values. */
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
    this.issues = issues;
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
 * own (`reflected`), or one that came with another body (`replayed`).
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
 *   if (error.outcome === 'unknown' || error.outcome === 'answered') console.error('The link may exist');
 * }
 * ```
 */
export function isHostedError(value: unknown): value is AnyHostedError {
  return value instanceof HostedError;
}
