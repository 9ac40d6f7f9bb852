/**
 * Sends one request and reads its answer whole: the only file that knows how requests travel. It
 * tells what came; what that means is decided in `call/service-error.ts`.
 *
 * @module
 */

import type { ReceivedAnswer } from '../errors/hosted-error.js';
import { copyProperties, shadowPollution } from '../runtime/prototype.js';
import { decodeLossy, decodeUtf8, readBytes } from '../runtime/read-body.js';
import { type Ky, loadKy } from './ky.js';

/** One request, signed and ready. */
export interface Sending {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
  /** The largest body to read, in decoded bytes. */
  readonly maxBytes: number;
}

/** An answer that came, usable or not. */
export interface Answer extends ReceivedAnswer {
  /** Why the body is not all there, or is no text. */
  readonly flaw: 'too_large' | 'not_utf8' | 'redirect' | null;
}

/** A request that got no answer. */
export interface NoAnswer {
  /** The platform's name for what happened, where it is one that is known. */
  readonly cause: string | null;
  /** Whether the service cannot have seen the request. */
  readonly notSent: boolean;
}

/** The largest body of an error that is read; the rest says nothing more. */
const maxErrorBytes = 64 * 1024;

/**
 * Sends a request, once.
 *
 * @returns The answer, or why there is none.
 * @throws the signal's reason when it aborts.
 */
export async function send(sending: Sending): Promise<Answer | NoAnswer> {
  const ky = await loadKy().catch(() => null);
  sending.signal.throwIfAborted();
  if (ky === null) return { cause: null, notSent: true };
  try {
    const response = await sendWith(ky, sending);
    const answer = await read(response, sending);
    sending.signal.throwIfAborted();
    return answer;
  } catch (error) {
    if (sending.signal.aborted) throw sending.signal.reason;
    return noAnswer(error, sending.fetch === platformFetch);
  }
}

function sendWith(ky: Ky, sending: Sending): Promise<Response> {
  const shadows = shadowPollution();
  const fetchOnce = () => {
    const { url, method, headers, body, signal, fetch } = sending;
    // Between turns the call may have ended, and not every fetch looks at the signal.
    signal.throwIfAborted();
    return fetch(url, { ...shadows, method, headers: new Headers(headers), body, redirect: 'manual', signal });
  };
  // Without ky while `Object.prototype` is polluted: any of its options and hooks could stand there.
  if (Object.keys(shadows).length > 0) return fetchOnce();
  return ky(sending.url, {
    method: sending.method,
    redirect: 'manual',
    // Attempts, waits and time limits are the pipeline's: each attempt needs a signature of its
    // own, Retry-After must not be slept out past the deadline, and the clock can be given.
    retry: 0,
    timeout: false,
    throwHttpErrors: false,
    // ky hands over a Request, which not every fetch takes (undici's own does not), and which
    // would send a stream where there is a text.
    fetch: fetchOnce,
  });
}

/**
 * The platform's fetch, looked up at each request, so that whoever replaces it later is heard.
 *
 * Deno's sends a text again by itself, a POST too, when the connection breaks before the answer; what
 * then fails may be the second try alone. A blob it sends once, and with its length.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};

async function read(response: Response, { maxBytes, signal }: Sending): Promise<Answer> {
  // A fetch of somebody's own may answer with anything.
  if (typeof response?.headers?.get !== 'function') throw new TypeError('fetch answered with no response');
  const { status, headers } = response;
  if (response.redirected || response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    response.body?.cancel().catch(() => undefined);
    return { status, headers, text: '', flaw: 'redirect' };
  }
  const limit = response.ok ? maxBytes : Math.min(maxBytes, maxErrorBytes);
  const { bytes, whole } = await readBytes(response.body, { limit, signal });
  const text = whole ? decodeUtf8(bytes) : null;
  if (text !== null) return { status, headers, text, flaw: null };
  return { status, headers, text: decodeLossy(bytes), flaw: whole ? 'not_utf8' : 'too_large' };
}

/** What happens before a request can leave: no address, no connection, no TLS session. */
const notSentCodes: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  // Bun's names.
  'ConnectionRefused',
  'FailedToOpenSocket',
  'UNKNOWN_CERTIFICATE_VERIFICATION_ERROR',
]);

/**
 * What Deno says of the same: it has no codes, but says at which step it stopped (there is no blank in
 * an address), and what a program may not do. Bun's "The TLS handshake failed" is not here: it says so
 * of sessions that break later, too.
 */
const notSentWords = /^(?:error sending request for url \(\S*\): client error \(Connect\)|Requires net access )/;

/** What happens before a request can leave when it happens while connecting, and after when not. */
const connectingCodes: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

/**
 * What a server that speaks no TLS looks like while connecting. The platform's own fetch has another
 * name for plain bytes in the middle of a session; one over `node:https` has not.
 */
const noTlsCodes: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** What can happen once a request is on its way. */
const brokenCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'EPROTO',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ConnectionClosed',
]);

/** Whether a request was answered. */
export function isAnswer(result: Answer | NoAnswer): result is Answer {
  return Object.hasOwn(result, 'status');
}

function noAnswer(error: unknown, byPlatform: boolean): NoAnswer {
  const failures = failuresIn(error);
  const notSent = failures.every((failure) => isBeforeSending(failure) || (byPlatform && noTlsCodes.has(failure.code)));
  // Only names that are known are shown: what else an error of somebody's fetch says may be anything.
  const known = failures.find(({ code }) =>
    [notSentCodes, connectingCodes, noTlsCodes, brokenCodes].some((codes) => codes.has(code)),
  );
  return { cause: known?.code ?? null, notSent };
}

interface Failure {
  /** Empty where there is none. */
  readonly code: string;
  readonly syscall: unknown;
  readonly message: string;
}

function isBeforeSending({ code, syscall, message }: Failure): boolean {
  if (notSentCodes.has(code) || (connectingCodes.has(code) && syscall === 'connect')) return true;
  return notSentWords.test(message);
}

// What cannot be read may have failed at any step.
const unreadable: Failure = { code: '', syscall: undefined, message: '' };

// What failed stands on the error, on its causes, or on each of the addresses that were tried.
function failuresIn(error: unknown, depth = 0): readonly Failure[] {
  if (typeof error !== 'object' || error === null || depth > 4) return [unreadable];
  try {
    const { errors, code, cause, syscall, message } = copyProperties(error, [
      'errors',
      'code',
      'cause',
      'syscall',
      'message',
    ]);
    if (Array.isArray(errors) && errors.length > 0) return errors.flatMap((each) => failuresIn(each, depth + 1));
    if (typeof code !== 'string' && typeof cause === 'object' && cause !== null) return failuresIn(cause, depth + 1);
    return [{ code: typeof code === 'string' ? code : '', syscall, message: String(message) }];
  } catch {
    return [unreadable];
  }
}
