/**
 * Whether the service can be reached, by a clock that agrees with its own, and takes what is signed.
 *
 * @module
 */

import { type HostedClient, isHostedError } from '../../index.js';
import { type Context, nowOf } from '../context.js';
import type { Finding } from './finding.js';

/** How far the clocks may be apart, in ms, before it is worth a word: `Date` has whole seconds. */
const unsuspiciousMs = 5_000;
/** From here on, signatures are refused as stale (assumed, as in `maxResponseAgeMs`). */
const staleMs = 300_000;

/** Asks whether anything answers at an address, and what time it is there. */
export async function checkAddress(url: string, context: Context): Promise<readonly Finding[]> {
  const { origin } = new URL(url);
  const from = nowOf(context);
  try {
    const response = await fetch(origin, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(10_000)]),
    });
    const found: Finding = { check: 'address', state: 'well', message: `${origin} answers` };
    return [found, checkClock(response.headers, { from, to: nowOf(context) })];
  } catch (error) {
    context.signal.throwIfAborted();
    const message = `nothing answers at ${origin}${reasonOf(error)}: check the variable, the network and its proxy`;
    return [{ check: 'address', state: 'unreachable', message }];
  }
}

function checkClock(headers: Headers, { from, to }: { from: number; to: number }): Finding {
  const there = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(there)) {
    return { check: 'clock', state: 'warning', message: 'the service sends no date to compare this clock with' };
  }
  const offMs = from - there;
  const isNear = Math.abs(offMs) <= unsuspiciousMs + (to - from);
  if (isNear) return { check: 'clock', state: 'well', message: 'agrees with that of the service' };
  const seconds = Math.round(Math.abs(offMs) / 1_000);
  const message = `this machine is ${seconds} s ${offMs > 0 ? 'ahead of' : 'behind'} the service: set its clock (NTP)`;
  return { check: 'clock', state: Math.abs(offMs) >= staleMs ? 'wrong' : 'warning', message };
}

/** ` (ECONNREFUSED)`, where the platform names a reason. */
function reasonOf(error: unknown): string {
  const cause: unknown = Object(error).cause;
  const code: unknown = Object(cause).code;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return ` (${code})`;
  return Object(error).name === 'TimeoutError' ? ' within ten seconds' : '';
}

/** Sends a signed call that changes nothing: the first page of links. */
export async function checkCall(client: HostedClient, { signal }: Context): Promise<Finding> {
  try {
    const { meta } = await client.links.list({ signal });
    const message = `a signed call is answered, and its answer verified: ${meta.totalCount} links`;
    return { check: 'call', state: 'well', message };
  } catch (error) {
    signal.throwIfAborted();
    return toFinding('call', error);
  }
}

/** An id that no job has. */
const noOne = 'hosted-client-doctor';

/** Asks for the status of a job that is not there. */
export async function checkJobStatus(client: HostedClient, { signal }: Context): Promise<Finding> {
  try {
    await client.jobs.status({ userId: noOne, jobId: noOne }, { signal });
  } catch (error) {
    signal.throwIfAborted();
    // A 404 without the service's code is a wrong address.
    const isKnown = isHostedError(error) && error.code === 'not_found' && error.serviceCode === '2304';
    if (!isKnown) return toFinding('job_status', error);
  }
  return { check: 'job_status', state: 'well', message: 'job status is answered: it knows no job of that name' };
}

function toFinding(check: Finding['check'], error: unknown): Finding {
  if (!isHostedError(error)) return { check, state: 'wrong', message: 'failed for an unknown reason' };
  const isReached = error.code !== 'connection' && error.code !== 'timeout';
  return { check, state: isReached ? 'wrong' : 'unreachable', message: error.message };
}
