/**
 * Checks that a callback endpoint rejects callbacks without a valid signature. It posts callbacks that report a failed
 * verification of an invented user. An endpoint that accepts such a callback does not verify signatures.
 *
 * @module
 */

import { type Context, nowOf } from '../context.js';
import type { Finding } from './finding.js';
import { noOne, reasonOf } from './service.js';

/** The largest callback that was seen. It has pictures. */
const largestBytes = 1_500_000;

/**
 * Posts a callback without a signature, then a callback with random bytes as its signature, and then such a callback
 * that is as large as callbacks with pictures.
 */
export async function checkEndpoint(url: string, context: Context): Promise<Finding> {
  const { origin } = new URL(url);
  const timestamp = new Date(nowOf(context)).toISOString();
  const forged = { timestamp, signature: createSignature() };
  try {
    const unsigned = await post(url, {}, context);
    // An accepted callback is reported at once, because the next callback may get no response.
    if (isAccepted(unsigned.status)) return createAccepted('an unsigned', unsigned.status, origin);
    const answer = await post(url, forged, context);
    if (isAccepted(answer.status)) return createAccepted('a forged', answer.status, origin);
    const finding = judge(unsigned, answer, origin);
    return finding.state === 'wrong' ? finding : await checkSize(url, forged, context, finding);
  } catch (error) {
    context.signal.throwIfAborted();
    const message = `no response from ${origin}${reasonOf(error)}: start the server that receives callbacks, or correct --callback`;
    return { check: 'callback', state: 'unreachable', message };
  }
}

/** Returns `finding` if the endpoint also reads a large callback. */
async function checkSize(url: string, forged: object, context: Context, finding: Finding): Promise<Finding> {
  const { origin } = new URL(url);
  const picture = { ...forged, Photo: 'A'.repeat(largestBytes) };
  // A server may close the connection before it has read the body.
  const { status } = await post(url, picture, context).catch(() => ({ status: null }));
  context.signal.throwIfAborted();
  if (status !== null && isAccepted(status)) return createAccepted('a large forged', status, origin);
  if (status !== null && rejecting.has(status)) return finding;
  const what = status === null ? 'gives no response' : `responds with status ${status}`;
  const message = `${origin} ${what} to a callback of 1.5 MB, and those with pictures are as large. Raise the limit for bodies in front of the handler: ${limits}`;
  return { check: 'callback', state: 'wrong', message };
}

const limits =
  "express.json({ limit: '2mb' }) in Express (default 100 KB), bodyLimit in Fastify (1 MiB), useBodyParser('json', { limit: '2mb' }) in Nest (100 KB), client_max_body_size in nginx (1 MB)";

function isAccepted(status: number): boolean {
  return status >= 200 && status < 300;
}

function createAccepted(kind: string, status: number, origin: string): Finding {
  const message = `${origin} accepts ${kind} callback (status ${status}): anyone can report a passed verification. Verify callbacks with callbacks.handler()`;
  return { check: 'callback', state: 'wrong', message };
}

/**
 * The statuses with which an endpoint may reject a signature. Any other status does not show that the endpoint has
 * checked the signature.
 */
const rejecting = new Set([400, 401, 403, 422]);

type Answer = Awaited<ReturnType<typeof post>>;

function judge(unsigned: Answer, forged: Answer, origin: string): Finding {
  const odd = [unsigned, forged].find(({ status }) => !rejecting.has(status));
  if (odd === undefined) {
    const message = `${origin} rejects unsigned and forged callbacks (status ${unsigned.status} and ${forged.status})`;
    if (forged.word) return { check: 'callback', state: 'well', message };
    return { check: 'callback', state: 'warning', message: `${message}, ${unlikeHandler}` };
  }
  const said = odd.word ? `${odd.status} (${odd.word})` : odd.status;
  const message = `${origin} responds to an unsigned or forged callback with status ${said}: ${adviceOf(odd.status)}`;
  return { check: 'callback', state: 'wrong', message };
}

const unlikeHandler =
  'but not as callbacks.handler() does: if a login, a CSRF protection or a firewall in front of it responded, it rejects genuine callbacks, too';

function adviceOf(status: number): string {
  if (status === 404 || status === 405) return 'is this the URL that receives callbacks?';
  if (status < 400) return 'the endpoint must respond itself, because redirects are not followed';
  if (status >= 500) {
    return 'the endpoint should reject such callbacks with 401, and not fail. With Express, Fastify or node:http, wrap the handler in nodeHandler() of hosted-client/node';
  }
  return 'the endpoint should reject such callbacks because of their signature, with 401';
}

function createSignature(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
}

async function post(url: string, signed: object, { signal }: Context) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...rejection, ...signed }),
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
  });
  // The body of a response of `callbacks.handler()` is one word.
  return { status: response.status, word: /^[a-z_]{1,20}$/.exec(await response.text())?.[0] };
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
