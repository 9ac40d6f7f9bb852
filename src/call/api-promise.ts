/**
 * The promise a call returns: the value when awaited, and the answer's particulars on request.
 *
 * @module
 */

/** The particulars of the answer that a value was read from. */
export interface ResponseInfo {
  /** The HTTP status: one of the 2xx. */
  readonly status: number;
  /** The headers of the answer. */
  readonly headers: Headers;
  /** The id the service gave the request, in `x-request-id` or a header like it; null where it gave none. */
  readonly requestId: string | null;
  /** How many requests the call took, the one that was answered included. */
  readonly attempts: number;
  /**
   * Gives the body as text, as received. It may hold personal data: not for logs.
   *
   * @returns The text, whole.
   */
  rawBody(): string;
}

/**
 * A value, together with the answer it was read from.
 *
 * @internal
 */
export interface Answered<T> {
  readonly data: T;
  readonly response: ResponseInfo;
}

/**
 * The promise of a call's value. The call has begun when one holds it, and is made once, however
 * often it is awaited; a {@link LinkList} alone waits for the first await.
 *
 * @typeParam T - The value.
 */
export interface ApiPromise<T> extends Promise<T> {
  /**
   * Gives the same call's value together with the answer it was read from; sends nothing of its own.
   *
   * @returns The value, and the particulars of the answer.
   * @throws {HostedError} when the call fails, as awaiting the promise itself does.
   *
   * @example Note the service's request id
   * ```ts
   * const { data, response } = await client.links.get(refId).withResponse();
   * console.log(data.state, response.requestId, response.attempts);
   * ```
   */
  withResponse(): Promise<{
    /** The call's value. */
    data: T;
    /** The answer it was read from. */
    response: ResponseInfo;
  }>;
}

/**
 * Wraps a running call.
 *
 * @internal
 */
export function apiPromise<T>(answered: Promise<Answered<T>>): ApiPromise<T> {
  return new CallPromise(answered);
}

class CallPromise<T> extends Promise<T> implements ApiPromise<T> {
  // then() and catch() give plain promises: the constructor below takes a call, not an executor.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #answered: Promise<Answered<T>>;

  constructor(answered: Promise<Answered<T>>) {
    super((resolve, reject) => {
      answered.then(({ data }) => resolve(data), reject);
    });
    this.#answered = answered;
  }

  withResponse(): Promise<{ data: T; response: ResponseInfo }> {
    // Whoever asks here hears of a failure here; the branch they left aside must not also be an
    // unhandled rejection.
    this.catch(() => undefined);
    return this.#answered.then(({ data, response }) => ({ data, response }));
  }
}
