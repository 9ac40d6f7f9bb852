/**
 * The errors that the service responds with (docs/protocol.md §7).
 *
 * @module
 */

import { type ErrorFacts, type ErrorResponse, HostedError } from './hosted-error.js';

/** The service responded with an error (docs/protocol.md §7). */
abstract class ServiceError extends HostedError {
  readonly #response: ErrorResponse;
  /** The HTTP status. */
  readonly status: number;
  /** The service's own code, as a string; null if it sent none. */
  readonly serviceCode: string | null;
  /**
   * How long the service asks the client to wait, in milliseconds; null if it does not ask. The client does not limit
   * this value.
   */
  readonly retryAfterMs: number | null;

  /** @internal */
  constructor(why: string, response: ErrorResponse, facts: ErrorFacts) {
    super(why, facts);
    this.#response = response;
    this.status = response.status;
    this.serviceCode = response.serviceCode;
    this.retryAfterMs = response.retryAfterMs;
  }

  /** The service's own message; null if it sent none. It may contain personal data: do not log it. */
  get serviceMessage(): string | null {
    return this.#response.serviceMessage;
  }

  /**
   * Gives a header of the response.
   *
   * @param name - The header's name, in upper or lower case.
   * @returns The value of the header; null if the response has no such header.
   */
  header(name: string): string | null {
    return this.#response.headers.get(name);
  }

  /**
   * Gives the received body of the response, unchanged. For an error status, at most the first 64 KiB are read. The
   * body may contain personal data: do not log it.
   *
   * @returns The body as a string, as far as it was read.
   */
  rawBody(): string {
    return this.#response.text;
  }
}

/**
 * The service rejected the request, and would reject it again. This error has these causes (docs/protocol.md §7): one
 * of the codes 2203, 2213, 2303 and 2313; a 4xx status without an error class of its own; a response with status 2xx
 * that has an `error`.
 */
export class HostedApiError extends ServiceError {
  readonly code = 'api';
}

/**
 * The service does not accept the signature: statuses 401 and 403, codes 2204, 2205 and 2305. This error also occurs if
 * the request is signed with the key of the wrong environment (docs/protocol.md §5, §7).
 */
export class HostedAuthenticationError extends ServiceError {
  readonly code = 'authentication';
}

/** There is no such link or job: status 404, code 2304 (docs/protocol.md §7). */
export class HostedNotFoundError extends ServiceError {
  readonly code = 'not_found';
}

/**
 * The service received too many requests: status 429. With code 2222, the error is not retryable: the service blocks an
 * ID number, and waiting does not change that. It is not known how many requests the service allows (docs/protocol.md
 * §8).
 */
export class HostedRateLimitError extends ServiceError {
  readonly code = 'rate_limit';
}

/** An error of the service itself: statuses 425 and 5xx, codes 2201 and 2301 (docs/protocol.md §7). */
export class HostedServerError extends ServiceError {
  readonly code = 'server';
}
