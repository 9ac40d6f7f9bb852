/**
 * The promise that a call returns. `await` gives the value; `withResponse()` also gives the response.
 *
 * @module
 */

/** The response that a value was read from. */
export interface ResponseInfo {
  /** The HTTP status: one of the 2xx. */
  readonly status: number;
  /** The headers of the response. */
  readonly headers: Headers;
  /** The id that the service gave the request, in `x-request-id` or a similar header; null if it gave none. */
  readonly requestId: string | null;
  /** How many requests the call made. */
  readonly attempts: number;
  /**
   * Gives the received body, unchanged. It may contain personal data: do not log it.
   *
   * @returns The whole body.
   */
  rawBody(): string;
}

/**
 * A value, and the response that it was read from.
 *
 * @internal
 */
export interface CallResult<T> {
  readonly data: T;
  readonly response: ResponseInfo;
}

/**
 * The promise of a call's value. The call has already begun, and is made only once, even if you await the promise
 * several times. The only exception is a {@link LinkList}: its call begins at the first await.
 *
 * @typeParam T - The value.
 */
export interface ApiPromise<T> extends Promise<T> {
  /**
   * Gives the value of the call together with the response. No further request is sent.
   *
   * @returns The value and the response.
   * @throws {HostedError} when the call fails. Awaiting the promise itself throws the same error.
   *
   * @example Read the service's request id
   * ```ts
   * const { data, response } = await client.links.get(refId).withResponse();
   * console.log(data.state, response.requestId, response.attempts);
   * ```
   */
  withResponse(): Promise<{
    /** The call's value. */
    data: T;
    /** The response that the value was read from. */
    response: ResponseInfo;
  }>;
}

/**
 * Wraps a running call.
 *
 * @internal
 */
export function createApiPromise<T>(result: Promise<CallResult<T>>): ApiPromise<T> {
  return new CallPromise(result);
}

/**
 * Makes a call. If `call` throws, the promise rejects with the error.
 *
 * @internal
 */
export function callOrReject<T>(call: () => ApiPromise<T>): ApiPromise<T> {
  try {
    return call();
  } catch (error) {
    return createApiPromise<T>(Promise.reject(error));
  }
}

/** The engine's promise: another one, such as Bluebird's, may stand in its place as a global, and cannot be extended. */
const NativePromise = (async () => undefined)().constructor as PromiseConstructor;

class CallPromise<T> extends NativePromise<T> implements ApiPromise<T> {
  // then() and catch() must return ordinary promises, because the constructor below does not take an executor.
  static override get [Symbol.species](): PromiseConstructor {
    return NativePromise;
  }

  readonly #result: Promise<CallResult<T>>;

  constructor(result: Promise<CallResult<T>>) {
    // `resolve` and `reject` are passed on without a wrapper, because V8 follows them to find the caller's stack
    // frames.
    super((resolve, reject) => {
      result.then(({ data }) => data).then(resolve, reject);
    });
    this.#result = result;
  }

  withResponse(): Promise<{ data: T; response: ResponseInfo }> {
    // `then` is called on this promise, and not on `#result`: V8 follows a promise only if exactly one `then` or
    // `await` uses it.
    return this.then(() => this.#result);
  }
}
