/**
 * Checks that the service can be reached, that its clock agrees with this machine's clock, and that it accepts signed
 * calls.
 *
 * @module
 */

import { adviceToDiagnose } from '../../call/connection-failure.js';
import { type HostedClient, isHostedError } from '../../index.js';
import { type Context, nowOf } from '../context.js';
import type { Finding } from './finding.js';
import { findUnusedProxy } from './unused-proxy.js';
import { toVariable } from './variables.js';

/**
 * The largest difference between the clocks, in ms, that causes no warning. A small difference says nothing, because
 * the header `Date` has only whole seconds.
 */
const unsuspiciousMs = 5_000;
/**
 * With a difference of this many ms or more, signatures are probably rejected as stale. The protocol shows no limit, so
 * this value is the same as the default of `maxResponseAgeMs`.
 */
const staleMs = 300_000;

const howToUseProxy = "Node's fetch uses it only with NODE_USE_ENV_PROXY=1 (Node 22.21, 24.5 or later)";

/** Checks that a server responds at a URL, and compares its clock with this machine's clock. */
export async function checkAddress(url: string, context: Context): Promise<readonly Finding[]> {
  const { origin } = new URL(url);
  const from = nowOf(context);
  try {
    const response = await fetch(origin, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(10_000)]),
    });
    const found: Finding = { check: 'address', state: 'well', message: `${origin} responds` };
    return [found, checkClock(response.headers, { from, to: nowOf(context) })];
  } catch (error) {
    context.signal.throwIfAborted();
    const proxy = findUnusedProxy(origin);
    const hint = proxy === null ? '' : `; ${proxy} is set, but ${howToUseProxy}`;
    const message = `no response from ${origin}${reasonOf(error)}: check the variable, the network and its proxy${hint}`;
    return [{ check: 'address', state: 'unreachable', message }];
  }
}

function checkClock(headers: Headers, { from, to }: { from: number; to: number }): Finding {
  const there = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(there)) {
    return { check: 'clock', state: 'warning', message: 'not checked: the service sends no "Date" header' };
  }
  const offMs = from - there;
  const isNear = Math.abs(offMs) <= unsuspiciousMs + (to - from);
  if (isNear) return { check: 'clock', state: 'well', message: 'agrees with the clock of the service' };
  const seconds = Math.round(Math.abs(offMs) / 1_000);
  const message = `this machine's clock is ${seconds} s ${offMs > 0 ? 'ahead of' : 'behind'} the service's clock: set this machine's clock (NTP)`;
  return { check: 'clock', state: Math.abs(offMs) >= staleMs ? 'wrong' : 'warning', message };
}

/**
 * The reason with a blank before it, such as ` (ECONNREFUSED)` or ` within ten seconds`; empty if no reason is known.
 */
export function reasonOf(error: unknown): string {
  const { code, message } = Object(Object(error).cause);
  if (message === 'bad port') return ' (fetch never connects to this port)';
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return ` (${code})`;
  return Object(error).name === 'TimeoutError' ? ' within ten seconds' : '';
}

/** Sends a signed call that changes nothing: the first page of links. */
export async function checkCall(client: HostedClient, context: Context): Promise<Finding> {
  const { signal } = context;
  try {
    const { meta } = await client.links.list({ signal });
    const message = `the service accepted a signed call (links: ${meta.totalCount})`;
    return { check: 'call', state: 'well', message };
  } catch (error) {
    signal.throwIfAborted();
    return toFinding('call', error, toVariable('baseUrls', context));
  }
}

/** An id that no job has. */
export const noOne = 'hosted-client-doctor';

/** Requests the status of a job that does not exist. */
export async function checkJobStatus(client: HostedClient, context: Context): Promise<Finding> {
  const { env, signal } = context;
  try {
    await client.jobs.status({ userId: noOne, jobId: noOne }, { signal });
  } catch (error) {
    signal.throwIfAborted();
    // A 404 without the service's code means that the URL is wrong.
    const isKnown = isHostedError(error) && error.code === 'not_found' && error.serviceCode === '2304';
    const own = toVariable('jobStatusBaseUrls', context);
    if (!isKnown) return toFinding('job_status', error, env[own] ? own : toVariable('baseUrls', context));
  }
  return { check: 'job_status', state: 'well', message: 'the service accepted a request for a job status' };
}

/** `variable` is the name of the variable with the URL. */
function toFinding(check: Finding['check'], error: unknown, variable: string): Finding {
  if (!isHostedError(error)) return { check, state: 'wrong', message: 'failed for an unknown reason' };
  const isReached = error.code !== 'connection' && error.code !== 'timeout';
  // The client's message names an option in place of the variable, and may advise to run doctor, which is running
  // already.
  const message = error.message.replace(`; ${adviceToDiagnose}`, '').replaceAll('"baseUrls"', variable);
  return { check, state: isReached ? 'wrong' : 'unreachable', message };
}
