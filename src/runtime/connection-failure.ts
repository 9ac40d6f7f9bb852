/**
 * Finds out from a connection error of fetch whether the request was never sent, or may have been received. Node, Bun,
 * Deno and Workers name these errors differently.
 *
 * @module
 */

import { copyProperties } from './untrusted-objects.js';

/** Why a request has no response. */
export interface ConnectionFailure {
  /** The platform's error code; null if it is not a known code. */
  readonly reason: string | null;
  /**
   * Deno's error message, if it names the step that failed; otherwise null. Deno has no error codes. The message may
   * contain any text, so it must not be shown.
   */
  readonly step: string | null;
  /** Whether the service cannot have seen the request. */
  readonly isNotSent: boolean;
  /** Whether the next request would fail in the same way, for example because of an invalid certificate. */
  readonly isLasting: boolean;
}

/** Finds the reason in the value that `fetch` threw; `byPlatform` is true for the platform's own fetch. */
export function describeConnectionFailure(error: unknown, byPlatform: boolean): ConnectionFailure {
  const failures = failuresIn(error);
  const isNotSent = failures.every(
    (failure) => isBeforeSending(failure) || (byPlatform && noTlsCodes.has(failure.code)),
  );
  // Only known codes are shown: other text from a caller's fetch may be a secret.
  const known = failures.find(({ code }) =>
    [notSentCodes, connectingCodes, noTlsCodes, interruptedCodes].some((codes) => codes.has(code)),
  );
  const reason = known?.code ?? null;
  const isLasting = failures.every(isAboutCertificate);
  return { reason, step: failures.find(isNamedByDeno)?.message ?? null, isNotSent, isLasting };
}

/** Errors about certificates. A certificate is checked before a request is sent. */
const certificateCodes: ReadonlySet<string> = new Set([
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
  // Bun's code.
  'UNKNOWN_CERTIFICATE_VERIFICATION_ERROR',
]);

/** Errors before a request is sent: no IP address, no connection, no TLS session. */
const notSentCodes: ReadonlySet<string> = new Set([
  ...certificateCodes,
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  // Bun's codes.
  'ConnectionRefused',
  'FailedToOpenSocket',
]);

/**
 * Deno's messages for errors before a request is sent. Deno has no codes, but its message names the step that failed,
 * or the missing permission. The URL in the message has no blanks. Bun's "The TLS handshake failed" is not included,
 * because Bun also reports it for sessions that break later.
 */
const notSentMessage = /^(?:error sending request for url \(\S*\): client error \(Connect\)|Requires net access )/;

/** Errors that can happen while connecting (before a request is sent), and also later. */
const connectingCodes: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

/**
 * Errors while connecting to a server without TLS. The platform's fetch uses these codes only while connecting. A
 * custom fetch that uses `node:https` may fail with these codes after the connection was made, too: if the server then
 * sends bytes that are not encrypted.
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

function isBeforeSending(failure: Failure): boolean {
  const { code, syscall } = failure;
  if (notSentCodes.has(code) || (connectingCodes.has(code) && syscall === 'connect')) return true;
  return isNamedByDeno(failure);
}

function isNamedByDeno({ message }: Failure): boolean {
  return notSentMessage.test(message);
}

function isAboutCertificate(failure: Failure): boolean {
  if (certificateCodes.has(failure.code)) return true;
  return isNamedByDeno(failure) && failure.message.includes(': invalid peer certificate: ');
}

// An error whose properties cannot be read may have happened at any step.
const unreadable: Failure = { code: '', syscall: undefined, message: '' };

// The code is on the error, on one of its causes, or on the errors of the IP addresses that were tried.
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
