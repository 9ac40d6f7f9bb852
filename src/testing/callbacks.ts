/**
 * Writes callbacks for tests: genuine, forged and altered ones (docs/protocol.md §6).
 *
 * @module
 */

import { writeJson } from '../runtime/untrusted-objects.js';
import { writeTime } from './dialect.js';
import { type JobSpelling, writeEntry } from './job-records.js';
import type { Keys } from './keys.js';
import { staleByMs } from './responses.js';
import type { StoredJob, StoredResult } from './store.js';
import type { MockEnvironment } from './types.js';

/** The result to report, and the mistake in the callback. */
export type CallbackOptions = NonNullable<Parameters<MockEnvironment['jobs']['callback']>[1]>;

export interface CallbackWriter {
  /** Writes the callback of one result, as a request to `url`. */
  write(job: StoredJob, url: string, options: CallbackOptions): Promise<Request>;
  /** The parts of the callback that was written for this result. Null if no callback was written for it yet. */
  signedResultOf(result: StoredResult): SignedResult | null;
  /** When the latest callback was signed, in ms since the epoch; null if no callback was written yet. */
  readonly lastSignedAt: number | null;
}

export interface CallbackWriterSettings {
  readonly keys: Keys;
  readonly spelling: JobSpelling;
  /** The callbacks of a saved state. */
  readonly saved?: SignedResults;
  now(): number;
  /** Called when the first callback of a result is written. */
  onChange(): void;
}

/**
 * For each result, the callback that was written for it. `lastSignedAt` is the time when the latest callback was
 * signed.
 */
export interface SignedResults {
  readonly results: readonly (readonly [StoredResult, SignedResult])[];
  readonly lastSignedAt: number | null;
}

/** The parts of a callback that stay the same when a result is redelivered. */
export interface SignedResult {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly signedAt: number;
}

/** Creates the writer of one environment's callbacks. */
export function createCallbackWriter({ keys, spelling, saved, now, onChange }: CallbackWriterSettings): CallbackWriter {
  const signedResults = new WeakMap<StoredResult, SignedResult>(saved?.results);
  let lastSignedAt = saved?.lastSignedAt ?? -Infinity;

  function signResult(job: StoredJob, result: StoredResult): SignedResult {
    const known = signedResults.get(result);
    if (known !== undefined) return known;
    // Each result gets its own timestamp. With the same timestamp, two results would have the same signature, because a
    // signature covers no other part of a callback.
    lastSignedAt = Math.max(now(), lastSignedAt + 1);
    const signedResult = { properties: writeEntry(job, result, spelling), signedAt: lastSignedAt };
    signedResults.set(result, signedResult);
    onChange();
    return signedResult;
  }

  async function write(job: StoredJob, url: string, options: CallbackOptions): Promise<Request> {
    const { variant, padBytes = 0 } = options;
    const { properties, signedAt } = signResult(job, findResult(job, options.entry));
    const timestamp = writeTime(variant === 'stale' ? signedAt - staleByMs : signedAt);
    const signature = await (variant === 'forged' ? keys.forge(timestamp) : keys.sign(timestamp));
    const body = {
      ...properties,
      ...(variant === 'altered' && alterResult(properties)),
      ...(padBytes > 0 && { Photo: 'A'.repeat(padBytes) }),
      ...(variant !== 'unsigned' && { timestamp, signature }),
    };
    const headers = { 'content-type': 'application/json' };
    return new Request(url, { method: 'POST', headers, body: writeJson(body) });
  }

  return {
    write,
    signedResultOf: (result) => signedResults.get(result) ?? null,
    get lastSignedAt() {
      return lastSignedAt === -Infinity ? null : lastSignedAt;
    },
  };
}

function findResult(job: StoredJob, entry: number = job.results.length - 1): StoredResult {
  const result = job.results[entry];
  if (result === undefined) {
    throw new RangeError(`Cannot send a callback: the job has ${job.results.length} results, got "entry" ${entry}`);
  }
  return result;
}

/** Turns a rejection into an approval, and any other result into a rejection. */
function alterResult({ ResultCode }: Readonly<Record<string, unknown>>): object {
  return ResultCode === '0811'
    ? { ResultCode: '0810', ResultText: 'Enroll User' }
    : { ResultCode: '0811', ResultText: 'Failed Enroll' };
}
