/**
 * The platform's fetch, and how its connections fail: what Node, Bun, Deno and Workers
 * call a request that was never sent, and one that may have been received.
 *
 * @module
 */

import { copyProperties } from './prototype.js';

/**
 * The platform's fetch, looked up at each request so that a later replacement (a test, a polyfill) is used.
 *
 * Deno sends a string again by itself, with POST too, when the connection breaks before the response; what
 * then fails may be the second request alone. It sends a blob once, and with its length.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};

/** Why a request has no response. */
export interface ConnectionFailure {
  /** The platform's name for the reason, where it is a known one. */
  readonly reason: string | null;
  /** Whether the service cannot have seen the request. */
  readonly isNotSent: boolean;
}

/** Reads from what `fetch` threw why there is no response; `byPlatform` where it was the platform's own. */
export function describeConnectionFailure(error: unknown, byPlatform: boolean): ConnectionFailure {
  const failures = failuresIn(error);
  const isNotSent = failures.every(
    (failure) => isBeforeSending(failure) || (byPlatform && noTlsCodes.has(failure.code)),
  );
  // Only known names are shown: anything else that a caller's own fetch says may be a secret.
  const known = failures.find(({ code }) =>
    [notSentCodes, connectingCodes, noTlsCodes, brokenCodes].some((codes) => codes.has(code)),
  );
  return { reason: known?.code ?? null, isNotSent };
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
 * What Deno says of the same: it has no codes, but names the step at which it stopped (a URL has no blanks), and
 * what the program has no permission for. Bun's "The TLS handshake failed" is not here: it says so of sessions
 * that break later, too.
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

// An error that cannot be read may have happened at any step.
const unreadable: Failure = { code: '', syscall: undefined, message: '' };

// The reason is on the error, on its causes, or on each of the IP addresses that were tried.
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
