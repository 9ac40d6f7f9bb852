/**
 * The promise a call returns: the value when awaited, and the answer's particulars on request.
 *
 * @module
 */

/** The particulars of an answer. */
export interface ResponseInfo {
  readonly status: number;
  readonly headers: Headers;
  /** The id the service gave the request, where it gave one. */
  readonly requestId: string | null;
  /** How many requests the call took. */
  readonly attempts: number;
  /** The body as text, as received. It may hold personal data. */
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

/** The promise of a call's value. */
export interface ApiPromise<T> extends Promise<T> {
  /** The same call's value together with the answer it was read from; sends nothing of its own. */
  withResponse(): Promise<{ data: T; response: ResponseInfo }>;
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
