/**
 * Callbacks as the service sends them, and as somebody else might (docs/protocol.md §6).
 *
 * @module
 */

import { writeJson } from '../runtime/prototype.js';
import { wireTime } from './dialect.js';
import { type JobWriting, wireEntry } from './job-records.js';
import type { Keys } from './keys.js';
import { staleByMs } from './responses.js';
import type { StoredJob, StoredResult } from './store.js';
import type { MockEnvironment } from './types.js';

/** Which callback of a job, and what is wrong with it. */
export type CallbackOptions = NonNullable<Parameters<MockEnvironment['jobs']['callback']>[1]>;

/** Writes callbacks. */
export interface Dispatch {
  /** The callback of one result, addressed to `address`. */
  write(job: StoredJob, address: string, options: CallbackOptions): Promise<Request>;
}

/** What it takes to write callbacks. */
export interface DispatchSettings {
  readonly keys: Keys;
  readonly writing: JobWriting;
  now(): number;
}

/** What is the same each time a result is sent. */
interface Delivery {
  readonly members: Readonly<Record<string, unknown>>;
  readonly signedAt: number;
}

/** Creates the office that sends callbacks. */
export function createDispatch({ keys, writing, now }: DispatchSettings): Dispatch {
  const deliveries = new WeakMap<StoredResult, Delivery>();
  let lastSignedAt = -Infinity;

  function deliveryOf(job: StoredJob, result: StoredResult): Delivery {
    const known = deliveries.get(result);
    if (known !== undefined) return known;
    // The signature covers the timestamp, not the body: two results of one millisecond would have
    // one signature between them.
    lastSignedAt = Math.max(now(), lastSignedAt + 1);
    const delivery = { members: wireEntry(job, result, writing), signedAt: lastSignedAt };
    deliveries.set(result, delivery);
    return delivery;
  }

  async function write(job: StoredJob, address: string, options: CallbackOptions): Promise<Request> {
    const { variant, padBytes = 0 } = options;
    const { members, signedAt } = deliveryOf(job, resultOf(job, options.entry));
    const timestamp = wireTime(variant === 'stale' ? signedAt - staleByMs : signedAt);
    const signature = await (variant === 'forged' ? keys.forge(timestamp) : keys.sign(timestamp));
    const body = {
      ...members,
      ...(variant === 'altered' && anotherResult(members)),
      ...(padBytes > 0 && { Photo: 'A'.repeat(padBytes) }),
      ...(variant !== 'unsigned' && { timestamp, signature }),
    };
    const headers = { 'content-type': 'application/json' };
    return new Request(address, { method: 'POST', headers, body: writeJson(body) });
  }

  return { write };
}

function resultOf(job: StoredJob, entry: number = job.results.length - 1): StoredResult {
  const result = job.results[entry];
  if (result === undefined) {
    throw new RangeError(`Cannot send a callback: the job has ${job.results.length} results, asked for entry ${entry}`);
  }
  return result;
}

/** What one would change: a rejection into an approval, anything else into a rejection. */
function anotherResult({ ResultCode }: Readonly<Record<string, unknown>>): object {
  return ResultCode === '0811'
    ? { ResultCode: '0810', ResultText: 'Enroll User' }
    : { ResultCode: '0811', ResultText: 'Failed Enroll' };
}
