/**
 * Finds out from a connection error of fetch whether the request was never sent, or may have been received, and explains
 * why there is no response. Node, Bun, Deno and Workers name these errors differently. A message names the origin of a
 * URL, but never its path.
 *
 * @module
 */

import { readProcessFacts } from '../runtime/env-proxy.js';
import { platformFetch } from '../runtime/fetch.js';
import { copyProperties } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';

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

/** One error that `fetch` or its connections reported. */
interface PlatformError {
  /** Empty if there is no code. */
  readonly code: string;
  readonly syscall: unknown;
  readonly message: string;
}

/** Finds the reason in the value that `fetch` threw; `byPlatform` is true for the platform's own fetch. */
export function describeConnectionFailure(thrown: unknown, byPlatform: boolean): ConnectionFailure {
  const errors = errorsIn(thrown);
  return {
    // Only known codes are shown: other text from a caller's fetch may be a secret.
    reason: errors.find(({ code }) => kindsByCode.has(code))?.code ?? null,
    step: errors.find(isNamedByDeno)?.message ?? null,
    isNotSent: errors.every((error) => isBeforeSending(error, byPlatform)),
    isLasting: errors.every(isAboutCertificate),
  };
}

/** Explains why a request has no response. */
export function explainFailure(failure: ConnectionFailure, origin: string, { fetch }: Settings): string {
  const { reason, step, isNotSent } = failure;
  const code = reason ?? denoSteps.find(([text]) => step?.includes(text))?.[1] ?? '';
  const broken = isNotSent ? 'no connection could be made to ORIGIN' : 'the connection to ORIGIN broke';
  const [, , what = broken, adviceOf] = kindsByCode.get(code) ?? [];
  const advice = typeof adviceOf === 'function' ? adviceOf() : adviceOf;
  const why = `${what.replace('ORIGIN', () => origin)}${reason === null ? '' : ` (${reason})`}`;
  const isPlatforms = fetch === platformFetch || fetch === globalThis.fetch;
  // No real host has a name that ends in `.test` (RFC 6761 §6.2). The hosts of the testing kit have such names.
  const isKits = isPlatforms && isNotSent && new URL(origin).hostname.endsWith('.test');
  return [advice ? `${why}: ${advice}` : why, ...(isKits ? [onlyByKit] : []), adviceToDiagnose].join('; ');
}

/** The last advice of an explanation: this command tests each part of the configuration. */
export const adviceToDiagnose = '"npx hosted-client doctor" checks the rest of the configuration';

const onlyByKit =
  'only the testing kit\'s own fetch can reach the hosts of the testing kit: pass "fetch: service.fetch" to the client';

/**
 * Errors of one kind: their codes in Node and Bun, when they happen, what they mean for the origin, and what to do.
 *
 * `'before'`: before the request is sent. `'certificate'`: the same, and the next request would fail, too.
 * `'connecting'`: before the request is sent if the system call was `connect`, otherwise at any time. `'plain'`: the
 * server has no TLS, which the platform's fetch finds out while connecting; a custom fetch that uses `node:https` may
 * find it out later, if the server then sends bytes that are not encrypted. `'later'`: perhaps after sending.
 */
type Kind = readonly [
  codes: string,
  when: 'before' | 'certificate' | 'connecting' | 'plain' | 'later',
  what?: string,
  advice?: string | (() => string | null),
];

const checkServer = 'check host and port in "baseUrls"';
const checkNetwork = 'check the network of this machine';
const checkDns = 'check "baseUrls", and the DNS of this machine';
const checkClock = 'check the clock of this machine';
const mustRenew = 'the server must renew it, unless the clock of this machine is wrong';
const timedOut = ['the connection to ORIGIN timed out', `${checkServer}, and the firewall`] as const;
const authorityCodes =
  'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE UNKNOWN_CERTIFICATE_VERIFICATION_ERROR CERT_UNTRUSTED';
const otherCertificateCodes =
  'CERT_CHAIN_TOO_LONG CERT_REJECTED CERT_REVOKED CERT_SIGNATURE_FAILURE INVALID_CA INVALID_PURPOSE PATH_LENGTH_EXCEEDED';
const tlsVersionCodes =
  'ERR_SSL_UNSUPPORTED_PROTOCOL ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION';
const plainCodes = 'ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG';
/** Stands for a code, because Deno has none for a missing permission. */
const forbidden = '(forbidden)';
const isForAnother = 'the certificate of ORIGIN is for another host';
const isUntrusted = 'the certificate of ORIGIN is from an authority that this runtime does not trust';
const isLate = 'ORIGIN did not respond within the time limit of fetch itself';

const kinds: readonly Kind[] = [
  ['ENOTFOUND EAI_FAIL EAI_NODATA', 'before', 'DNS knows no host of ORIGIN', checkDns],
  ['EAI_AGAIN', 'before', 'DNS did not respond for the host of ORIGIN', `${checkNetwork}, and "baseUrls"`],
  ['ECONNREFUSED ConnectionRefused', 'before', 'ORIGIN refused the connection', checkServer],
  ['UND_ERR_CONNECT_TIMEOUT', 'before', ...timedOut],
  ['ETIMEDOUT', 'connecting', ...timedOut],
  ['EHOSTUNREACH ENETUNREACH', 'connecting', 'there is no route to ORIGIN', checkNetwork],
  ['FailedToOpenSocket', 'before'],
  [plainCodes, 'plain', 'ORIGIN does not speak TLS', 'check the port in "baseUrls"'],
  [tlsVersionCodes, 'before', 'ORIGIN and this runtime have no version of TLS in common', checkServer],
  ['CERT_HAS_EXPIRED', 'certificate', 'the certificate of ORIGIN has expired', mustRenew],
  ['CERT_NOT_YET_VALID', 'certificate', 'the certificate of ORIGIN is not valid yet', checkClock],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate', isForAnother, 'check the host in "baseUrls"'],
  [authorityCodes, 'certificate', isUntrusted, adviceAboutAuthority],
  [otherCertificateCodes, 'certificate', 'the certificate of ORIGIN cannot be verified'],
  ['UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT', 'later', isLate],
  ['ECONNRESET ECONNABORTED EPIPE EPROTO UND_ERR_SOCKET ConnectionClosed', 'later'],
  [forbidden, 'before', 'Deno may not connect to ORIGIN', 'start Deno with --allow-net'],
];

const kindsByCode: ReadonlyMap<string, Kind> = new Map(
  kinds.flatMap((kind) => kind[0].split(' ').map((code) => [code, kind] as const)),
);

/**
 * Parts of Deno's messages, each with the code that Node uses for the same error, if there is one. If a message contains several parts,
 * the first part in this list decides.
 */
const denoSteps: readonly (readonly [text: string, code: string])[] = [
  ['Requires net access ', forbidden],
  [': dns error: ', 'ENOTFOUND'],
  [': Connection refused ', 'ECONNREFUSED'],
  [': received corrupt message of type InvalidContentType', 'ERR_SSL_WRONG_VERSION_NUMBER'],
  [': invalid peer certificate: UnknownIssuer', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  [': certificate not valid for name ', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  [': certificate expired', 'CERT_HAS_EXPIRED'],
  [': certificate not valid yet', 'CERT_NOT_YET_VALID'],
  [': invalid peer certificate: ', 'CERT_REJECTED'],
];

/**
 * Deno's messages for errors before a request is sent. Deno has no codes, but its message names the step that failed,
 * or the missing permission. The URL in the message has no blanks. Bun's "The TLS handshake failed" is not included,
 * because Bun also reports it for sessions that break later.
 */
const notSentMessage = /^(?:error sending request for url \(\S*\): client error \(Connect\)|Requires net access )/;

function isNamedByDeno({ message }: PlatformError): boolean {
  return notSentMessage.test(message);
}

function isBeforeSending(error: PlatformError, byPlatform: boolean): boolean {
  const [, when] = kindsByCode.get(error.code) ?? [];
  if (when === 'before' || when === 'certificate' || isNamedByDeno(error)) return true;
  return when === 'connecting' ? error.syscall === 'connect' : when === 'plain' && byPlatform;
}

function isAboutCertificate(error: PlatformError): boolean {
  if (kindsByCode.get(error.code)?.[1] === 'certificate') return true;
  return isNamedByDeno(error) && error.message.includes(': invalid peer certificate: ');
}

// An error whose properties cannot be read may have happened at any step.
const unreadable: PlatformError = { code: '', syscall: undefined, message: '' };

// The code is on the error, on one of its causes, or on the errors of the IP addresses that were tried.
function errorsIn(error: unknown, depth = 0): readonly PlatformError[] {
  if (typeof error !== 'object' || error === null || depth > 4) return [unreadable];
  try {
    const { errors, code, cause, syscall, message } = copyProperties(error, [
      'errors',
      'code',
      'cause',
      'syscall',
      'message',
    ]);
    if (Array.isArray(errors) && errors.length > 0) return errors.flatMap((each) => errorsIn(each, depth + 1));
    if (typeof code !== 'string' && typeof cause === 'object' && cause !== null) return errorsIn(cause, depth + 1);
    return [{ code: typeof code === 'string' ? code : '', syscall, message: String(message) }];
  } catch {
    return [unreadable];
  }
}

function adviceAboutAuthority(): string | null {
  const runtime = readProcessFacts()?.runtime;
  if (runtime === undefined) return null;
  const variable = runtime === 'deno' ? 'DENO_CERT' : 'NODE_EXTRA_CA_CERTS';
  return `if the authority belongs to you or to your proxy, set ${variable} to the path of the authority's certificate file before the process starts`;
}
