/**
 * The platform's fetch, and its connection errors: by which names Node, Bun, Deno and Workers report a
 * request that was never sent, and one that may have been received.
 *
 * @module
 */

import { copyProperties } from './prototype.js';

/**
 * The platform's fetch, looked up at each request so that a later replacement (a test, a polyfill) is used.
 *
 * Deno retries a request with a string body, POST too, when the connection breaks before the response; the
 * error may then be that of the second request. It sends a blob once, with its length.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};

/** Why a request has no response. */
export interface ConnectionFailure {
  /** The platform's error code, where it is a known one. */
  readonly reason: string | null;
  /** Whether the service cannot have seen the request. */
  readonly isNotSent: boolean;
}

/** Finds the reason in what `fetch` threw; `byPlatform` is true for the platform's own fetch. */
export function describeConnectionFailure(error: unknown, byPlatform: boolean): ConnectionFailure {
  const failures = failuresIn(error);
  const isNotSent = failures.every(
    (failure) => isBeforeSending(failure) || (byPlatform && noTlsCodes.has(failure.code)),
  );
  // Only known codes are shown: other text from a caller's fetch may be a secret.
  const known = failures.find(({ code }) =>
    [notSentCodes, connectingCodes, noTlsCodes, interruptedCodes].some((codes) => codes.has(code)),
  );
  return { reason: known?.code ?? null, isNotSent };
}

/** Errors before a request is sent: no IP address, no connection, no TLS session. */
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
  // Bun's codes.
  'ConnectionRefused',
  'FailedToOpenSocket',
  'UNKNOWN_CERTIFICATE_VERIFICATION_ERROR',
]);

/**
 * Deno's messages for the same: it has no codes, but names the step that failed (a URL has no blanks), and the
 * missing permission. Bun's "The TLS handshake failed" is not here: Bun also reports it for sessions that
 * break later.
 */
const notSentMessage = /^(?:error sending request for url \(\S*\): client error \(Connect\)|Requires net access )/;

/** Errors before a request is sent if they happen while connecting, and after it otherwise. */
const connectingCodes: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

/**
 * Errors while connecting to a server without TLS. The platform's fetch has another code for plain bytes in the
 * middle of a session; a fetch over `node:https` does not.
 */
const noTlsCodes: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** Errors after a request may have been sent. */
const interruptedCodes: ReadonlySet<string> = new Set([
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
  /** Empty if there is no code. */
  readonly code: string;
  readonly syscall: unknown;
  readonly message: string;
}

function isBeforeSending({ code, syscall, message }: Failure): boolean {
  if (notSentCodes.has(code) || (connectingCodes.has(code) && syscall === 'connect')) return true;
  return notSentMessage.test(message);
}

// An error whose properties cannot be read may have happened at any step.
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
