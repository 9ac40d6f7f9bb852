/**
 * Checks that a callback endpoint rejects callbacks without a valid signature. The callbacks that are sent report that
 * the verification of an invented user failed, so an endpoint that accepts them verifies nobody.
 *
 * @module
 */

import { type Context, nowOf } from '../context.js';
import type { Finding } from './finding.js';

const noOne = 'hosted-client-doctor';

/** Posts a callback without a signature, and one with random bytes as its signature. */
export async function checkEndpoint(url: string, context: Context): Promise<Finding> {
  const { origin } = new URL(url);
  const timestamp = new Date(nowOf(context)).toISOString();
  const forged = { timestamp, signature: createSignature() };
  try {
    const statuses = [await post(url, {}, context), await post(url, forged, context)];
    return judge(statuses[0] ?? 0, statuses[1] ?? 0, origin);
  } catch {
    context.signal.throwIfAborted();
    const message = `no response from ${origin}: start the server that receives callbacks, or correct --callback`;
    return { check: 'callback', state: 'unreachable', message };
  }
}

function judge(unsigned: number, forged: number, origin: string): Finding {
  const isAccepted = (status: number) => status >= 200 && status < 300;
  if (isAccepted(unsigned) || isAccepted(forged)) {
    const [kind, status] = isAccepted(unsigned) ? ['an unsigned', unsigned] : ['a forged', forged];
    const message = `${origin} accepts ${kind} callback (status ${status}): anyone can report a "passed". Verify callbacks with callbacks.handler()`;
    return { check: 'callback', state: 'wrong', message };
  }
  const odd = [unsigned, forged].find((status) => status < 400 || status >= 500 || status === 404 || status === 405);
  if (odd === undefined) {
    const message = `${origin} rejects unsigned and forged callbacks (status ${unsigned} and ${forged})`;
    return { check: 'callback', state: 'well', message };
  }
  const advice =
    odd === 404 || odd === 405
      ? 'is it the URL that receives callbacks?'
      : odd < 400
        ? 'it must respond by itself: redirects are not followed'
        : 'it should reject them with 401, and not fail';
  const message = `${origin} responds to an unsigned or forged callback with status ${odd}: ${advice}`;
  return { check: 'callback', state: 'wrong', message };
}

function createSignature(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
}

async function post(url: string, signed: object, { signal }: Context): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...rejection, ...signed }),
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
  });
  await response.body?.cancel();
  return response.status;
}

/** A result as in §6 of docs/protocol.md. */
const rejection = {
  HostedJobID: noOne,
  PartnerParams: { user_id: noOne, job_id: noOne, job_type: '1' },
  ResultType: 'SAIA',
  ResultText: 'Failed Enroll',
  ResultCode: '0811',
  IsFinalResult: 'true',
};
