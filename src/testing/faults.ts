/**
 * The faults that a test can inject with `failNext`.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import { copyProperties } from '../runtime/untrusted-objects.js';
import { type ResponseData, type Signing, serviceCode } from './responses.js';
import type { MockFault } from './types.js';

/** The faults that have not happened yet: for each operation, in the order in which they were added. */
export type FaultQueue = ReturnType<typeof createFaultQueue>;

/** A fault that will happen, and the number of requests for which it will happen. */
export interface ComingFault {
  readonly id: number;
  readonly operation: OperationName;
  readonly fault: MockFault;
  readonly left: number;
}

export interface FaultQueueSettings {
  /** Gives the id of the next fault. */
  nextId(): number;
  /** Called after every change. */
  onChange(): void;
}

/** Creates an empty queue. */
export function createFaultQueue({ nextId, onChange }: FaultQueueSettings) {
  const queues = new Map<OperationName, { readonly id: number; readonly fault: MockFault; left: number }[]>();

  function add(operation: OperationName, fault: MockFault, times: number): void {
    if (!(times >= 0)) throw new RangeError(`Cannot fail requests: "times" must be 0 or more, got ${times}`);
    const queue = queues.get(operation) ?? [];
    const copy = copyProperties(fault, ['kind', 'status', 'body', 'retryAfter']) as unknown as MockFault;
    queues.set(operation, [...queue, { id: nextId(), fault: copy, left: times }]);
    onChange();
  }

  /** Returns the fault for a request that has just arrived, and counts it as used; null if there is no fault. */
  function take(operation: OperationName): MockFault | null {
    const queue = (queues.get(operation) ?? []).filter(({ left }) => left > 0);
    queues.set(operation, queue);
    const [next] = queue;
    if (next === undefined) return null;
    next.left -= 1;
    onChange();
    return next.fault;
  }

  /** The faults that have not happened yet. */
  function all(): readonly ComingFault[] {
    return [...queues].flatMap(([operation, queue]) =>
      queue.flatMap(({ left, ...rest }) => (left > 0 ? [{ operation, left, ...rest }] : [])),
    );
  }

  /** Removes a fault. Returns false if no coming fault has this id. */
  function cancel(id: number): boolean {
    const found = [...queues.values()].flat().find((entry) => entry.id === id && entry.left > 0);
    if (found === undefined) return false;
    found.left = 0;
    onChange();
    return true;
  }

  return { add, take, all, cancel };
}

/** Creates the response of a `'status'` fault. */
export function createFaultResponse(fault: MockFault & { kind: 'status' }, operation: OperationName): ResponseData {
  return {
    status: fault.status,
    body: fault.body === undefined ? defaultBodyOf(fault.status, operation) : fault.body,
    ...(fault.retryAfter !== undefined && { headers: { 'retry-after': fault.retryAfter } }),
  };
}

function defaultBodyOf(status: number, operation: OperationName): object {
  if (status >= 500) return { error: 'System error', code: serviceCode(operation, '01') };
  if (status === 401 || status === 403) return { error: 'Not authorised', code: serviceCode(operation, '05') };
  return { error: `Rejected with status ${status}` };
}

/**
 * Chooses how a response with this fault is signed. `usual` is the way in which the response is signed if there is no
 * fault.
 */
export function chooseSigning(fault: MockFault | null, usual: Signing): Signing {
  if (fault?.kind === 'bad-signature') return 'forged';
  if (fault?.kind === 'stale-timestamp') return 'stale';
  if (fault?.kind === 'missing-signature' && usual !== 'not at all') return 'timestamp alone';
  return usual;
}

/** An HTML page that a proxy sends instead of the service's response. */
export const htmlPage: ResponseData = { status: 200, body: '<!doctype html><title>Welcome</title>Please sign in' };

/** Creates the error with which Node's fetch reports a broken connection. */
export function createNetworkError(): TypeError {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  return new TypeError('fetch failed', { cause });
}

/** Never resolves. Rejects with the signal's reason when the signal aborts. */
export function stall(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
}
