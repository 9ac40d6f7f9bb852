/**
 * The web-standard handler of callbacks: begin → handle → commit, and what the service is told.
 *
 * @module
 */

import { assumedComeAgainSeconds } from '../assumptions.js';
import { readBytes } from '../body.js';
import { HostedResponseError, HostedSignatureError } from '../errors.js';
import type { JobStatus } from '../jobs/types.js';
import {
  believeCallback,
  type Received,
  type Receiving,
  type ReceivingWorld,
  replayed,
  unreadable,
} from './receive.js';
import type { CallbackEvent } from './types.js';

/** What a handler does with a callback. */
export interface Handling {
  readonly receiving: Receiving;
  readonly world: ReceivingWorld;
  /** Asks for the signed truth; null where the callback alone is handed over. */
  readonly confirm: ((event: CallbackEvent) => Promise<JobStatus>) | null;
  readonly onEvent: (event: CallbackEvent, status?: JobStatus) => unknown;
  readonly warn: (message: string) => void;
}

/** Makes a handler; it never rejects. */
export function createHandler(handling: Handling): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'POST') return answer(405, { allow: 'POST' });
    let received: Received;
    try {
      received = await believeCallback(
        await readBody(request, handling.receiving.maxBytes),
        handling.receiving,
        handling.world,
      );
    } catch (error) {
      return refusal(error, handling);
    }
    return handle(received, handling);
  };
}

async function handle({ event, key, bodyDigest, expiresAt }: Received, handling: Handling): Promise<Response> {
  const { receiving, confirm, onEvent, warn } = handling;
  const { replayGuard } = receiving;
  let status: JobStatus | undefined;
  try {
    const known = await replayGuard.begin(key, bodyDigest, expiresAt);
    if (known === 'conflict') return refusal(replayed(), handling);
    if (known === 'repeat') return answer(200);
    if (known !== 'new') return comeAgain();
  } catch {
    warn('hosted-client: the replay guard failed; the callback will be delivered again');
    return comeAgain();
  }
  try {
    if (confirm) status = await confirm(event);
  } catch {
    warn('hosted-client: a callback could not be confirmed; it will be delivered again');
    await quietlyForget(handling, key);
    return comeAgain();
  }
  try {
    await (status ? onEvent(event, status) : onEvent(event));
  } catch {
    warn('hosted-client: onEvent rejected; the callback will be delivered again');
    await quietlyForget(handling, key);
    return answer(500);
  }
  try {
    await replayGuard.commit(key);
  } catch {
    // It was handled: to ask for it again would hand it over twice.
    warn('hosted-client: the replay guard failed after a callback was handled');
  }
  return answer(200);
}

async function quietlyForget({ receiving, warn }: Handling, key: string): Promise<void> {
  try {
    await receiving.replayGuard.forget(key);
  } catch {
    warn('hosted-client: the replay guard failed after a callback was not handled');
  }
}

// A body that says it is too large is not read at all; one that does not, no further than the limit.
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? 0);
  const { bytes, whole } =
    announced > maxBytes
      ? { bytes: new Uint8Array(), whole: false }
      : await readBytes(request.body, { limit: maxBytes });
  if (!whole) throw unreadable('too_large', []);
  return bytes;
}

function refusal(error: unknown, { warn }: Handling): Response {
  if (error instanceof HostedSignatureError) {
    warn(`hosted-client: ${error.message}`);
    return answer(401);
  }
  if (error instanceof HostedResponseError) return answer(error.reason === 'too_large' ? 413 : 400);
  // The body broke off, or the signer failed: neither is the callback's fault.
  warn('hosted-client: a callback could not be read or verified; it will be delivered again');
  return comeAgain();
}

function comeAgain(): Response {
  return answer(503, { 'retry-after': String(assumedComeAgainSeconds) });
}

function answer(status: number, headers: Record<string, string> = {}): Response {
  return new Response(null, { status, headers });
}
