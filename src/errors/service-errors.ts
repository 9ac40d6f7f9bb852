/**
 * The errors that the service answers with (docs/protocol.md §7).
 *
 * @module
 */

import { HostedError, type Particulars, type ReceivedAnswer } from './hosted-error.js';

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
