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
import type { SignedResult, StoredJob, StoredResult } from './store.js';
import type { MockEnvironment } from './types.js';

/** The result to report, and the mistake in the callback. */
export type CallbackOptions = NonNullable<Parameters<MockEnvironment['jobs']['callback']>[1]>;

export type CallbackWriter = ReturnType<typeof createCallbackWriter>;

export interface CallbackWriterSettings {
  readonly keys: Keys;
  readonly spelling: JobSpelling;
  /** When the latest callback was signed, in a state that is continued. */
  readonly lastSignedAt: number | null;
  now(): number;
  /** Called when the first callback of a result is written. */
  onChange(): void;
}

/** Creates the writer of one environment's callbacks. */
export function createCallbackWriter(settings: CallbackWriterSettings) {
  const { keys, spelling, now, onChange } = settings;
  let { lastSignedAt } = settings;

  function signResult(job: StoredJob, result: StoredResult): SignedResult {
    if (result.signed !== null) return result.signed;
    // Each result gets its own timestamp. With the same timestamp, two results would have the same signature, because a
    // signature covers no other part of a callback.
    lastSignedAt = Math.max(now(), (lastSignedAt ?? -Infinity) + 1);
    result.signed = { properties: writeEntry(job, result, spelling), signedAt: lastSignedAt };
    onChange();
    return result.signed;
  }

  /** Writes the callback of one result, as a request to `url`. */
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
    return new Request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: writeJson(body) });
  }

  return {
    write,
    /** When the latest callback was signed, in ms since the epoch; null if no callback was written yet. */
    get lastSignedAt() {
      return lastSignedAt;
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
