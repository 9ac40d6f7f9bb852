/**
 * Forwards callbacks to a server that receives them. A handler on that server verifies a forwarded callback as if the
 * service had sent it.
 *
 * @module
 */

import { resultId } from '../callbacks/read-callback.js';
import { pairNames } from '../callbacks/scan-body.js';
import type { ConfirmedEvent, HostedClient } from '../index.js';
import { assumedRedeliverySeconds } from '../protocol/assumptions.js';
import { decodeUtf8 } from '../runtime/read-body.js';
import { isRecord, type Properties, parseJson, writeJson } from '../runtime/untrusted-objects.js';

/** How long the receiver of a forwarded callback may take, in ms. */
const forwardTimeoutMs = 10_000;

/** The receiver of forwarded callbacks. */
export interface Receiver {
  readonly url: string;
  readonly signal: AbortSignal;
  say(text: string): void;
}

/**
 * Forwards the confirmed result of a callback: the entry of the job's verified history, with the confirmed ids, and the
 * verified pair of the posted body. Nothing else of the posted body is forwarded, because nothing else is signed.
 *
 * @returns The receiver's status. It is 503 if the history has no such entry: the service may deliver a callback before
 *   its result is in the history.
 */
export async function forwardConfirmed(
  posted: Uint8Array,
  event: ConfirmedEvent,
  { client, receiver }: { readonly client: HostedClient; readonly receiver: Receiver },
): Promise<Response> {
  const entry = event.entry === null ? null : await fetchEntry(event, client, receiver.signal);
  if (entry === null) {
    receiver.say(`not forwarded: the history of job ${event.jobId} of user ${event.userId} does not have this result`);
    return new Response(null, { status: 503, headers: { 'retry-after': String(assumedRedeliverySeconds) } });
  }
  const ids = { user_id: event.userId, job_id: event.jobId };
  const params = isRecord(entry.PartnerParams) ? entry.PartnerParams : {};
  // An entry may have another pair, and other ids than its job.
  const body = { ...entry, PartnerParams: { ...params, ...ids }, ...readPair(posted) };
  return post(writeJson(body), { ...receiver, contentType: 'application/json', what: 'forwarded' });
}

/** Forwards a body as it came. */
export function forwardUnverified(posted: Uint8Array, contentType: string | undefined, receiver: Receiver) {
  const type = contentType ?? 'application/json';
  return post(new Uint8Array(posted), { ...receiver, contentType: type, what: 'forwarded without verification' });
}

// The handler has decoded the entry, so its fields have lost their names on the wire. The response to another request
// has them, verified in the same way.
async function fetchEntry(
  event: ConfirmedEvent,
  client: HostedClient,
  signal: AbortSignal,
): Promise<Properties | null> {
  const { userId, jobId } = event;
  const { data, response } = await client.jobs.status({ userId, jobId, history: true }, { signal }).withResponse();
  const ids = await Promise.all((data.history ?? []).map((entry) => resultId(event, entry)));
  const status = parseJson(response.rawBody()) as Properties;
  // A history with one entry may be written without a list.
  const entry: unknown = [status.history].flat()[ids.lastIndexOf(event.id)];
  return isRecord(entry) ? entry : null;
}

// The pair is verified: it is read as the handler has read it. A name that is missing is undefined.
function readPair(posted: Uint8Array): Properties {
  const properties = parseJson(decodeUtf8(posted) ?? '') as Properties;
  return Object.fromEntries(pairNames.map((name) => [name, properties[name]]));
}

interface Post extends Receiver {
  readonly contentType: string;
  /** What happened to the callback, for the line about it. */
  readonly what: string;
}

// The sender gets the receiver's status. So the sender redelivers a callback that failed at the receiver.
async function post(body: BodyInit, { url, signal, contentType, what, say }: Post): Promise<Response> {
  const { origin } = new URL(url);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': contentType },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(forwardTimeoutMs)]),
    });
    await response.body?.cancel();
    say(`${what} to ${origin}: ${response.status}`);
    return new Response(null, { status: response.status >= 200 ? response.status : 502 });
  } catch {
    say(`not forwarded: no response from ${origin}`);
    return new Response(null, { status: 502 });
  }
}
