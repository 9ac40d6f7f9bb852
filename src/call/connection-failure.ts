/**
 * Finds out from an error of fetch whether the request was never sent, or may have been received, and explains why there
 * is no response. The step that failed decides, and not the name of the error. A message names the origin of a URL, but
 * never its path.
 *
 * @module
 */

import { describeThrown } from '../errors/caller-frames.js';
import { readProcessFacts } from '../runtime/env-proxy.js';
import { isPlatformFetch, undiciStepOf } from '../runtime/fetch.js';
import { copyProperties, isRecord } from '../runtime/untrusted-objects.js';

/** Why a request has no response. */
export type ConnectionFailure = ReturnType<typeof explainFailure>;

/** What a fetch is said to have thrown if it resolved with something else than a response. */
export const noResponse = new TypeError('no response');
/** The same for a response whose body cannot be read, such as those of node-fetch. */
export const noStream = new TypeError('a body that is no ReadableStream: use the fetch of the platform or of undici');

/** One error that `fetch` or its connections reported; `code` and `syscall` are empty if it has none. */
type PlatformError = Readonly<Record<'code' | 'syscall' | 'message', string>> & ReturnType<typeof undiciStepOf>;

/**
 * Explains the value that a client's fetch threw.
 *
 * @returns `why`, for people; `reason`, the platform's error code, or null if there is none that may be shown;
 *   `isNotSent`, whether the service cannot have seen the request; and `isLasting`, whether the next request would fail in
 *   the same way, for example because of an invalid certificate.
 */
export function explainFailure(thrown: unknown, origin: string, fetch: unknown) {
  const errors = errorsIn(thrown);
  const isNotSent = errors.every(isBeforeSending);
  const isLasting = errors.every((error) => certificate.test(textOf(error)));
  const error = errors.find(kindOf) ?? (errors[0] as PlatformError);
  const kind = kindOf(error);
  const isPlatforms = isPlatformFetch(fetch);
  // Any other text from a caller's fetch may be a secret.
  const isShown = kind !== undefined || isPlatforms || isBeforeSending(error);
  const reason = isShown && /^[A-Z][\w/]+$/.test(error.code) ? error.code : null;
  const unusable = [noResponse, noStream].find((each) => each === thrown);
  if (unusable || (!kind && !isPlatforms && !isNotSent)) {
    const how = unusable ? `resolved with ${unusable.message}` : `failed: ${describeThrown(thrown)}`;
    return { why: `${isPlatforms ? 'fetch' : `the client's own "fetch"`} ${how}`, reason, isNotSent, isLasting };
  }
  const [, what, adviceOf] = kind ?? [null, isNotSent ? 'no connection could be made to ORIGIN' : broken];
  const isProxys = error.host !== undefined && error.host !== new URL(origin).host;
  const advice = isProxys ? checkProxy : typeof adviceOf === 'function' ? adviceOf() : adviceOf;
  const why = `${what.replace('ORIGIN', () => (isProxys ? 'the proxy' : origin))}${reason ? ` (${reason})` : ''}`;
  // No real host has a name that ends in `.test` (RFC 6761 §6.2). The hosts of the testing kit have such names.
  const isKits = isPlatforms && isNotSent && new URL(origin).hostname.endsWith('.test');
  const parts = [advice ? `${why}: ${advice}` : why, ...(isKits ? [onlyByKit] : []), adviceToDiagnose];
  return { why: parts.join('; '), reason, isNotSent, isLasting };
}

/** The last advice of an explanation: this command tests each part of the configuration. */
export const adviceToDiagnose = '"npx hosted-client doctor" checks the rest of the configuration';

const onlyByKit =
  'only the testing kit\'s own fetch can reach the hosts of the testing kit: pass "fetch: service.fetch" to the client';

const broken = 'the connection to ORIGIN broke';
const checkServer = 'check host and port in "baseUrls"';
const checkFirewall = `${checkServer}, and the firewall`;
const checkNetwork = 'check the network of this machine';
const checkDns = 'check "baseUrls", and the DNS of this machine';
const checkProxy = 'check the proxy that this process uses';
const checkPort = 'check the port in "baseUrls"';
const checkHost = 'check the host in "baseUrls"';
const checkClock = 'check the clock of this machine';
const mustRenew = 'the server must renew it, unless the clock of this machine is wrong';
const mustOnlySend = 'use one that neither retries nor throws for a status';
const hasNoRoute = /^(?:EHOSTUNREACH|ENETUNREACH) | is unreachable \(|: No route to host /;
const hasNoTunnel = / Proxy response \(|^ERR_PROXY_TUNNEL |: unsuccessful tunnel$/;
const isWithheld = /^UND_ERR_(?:REQ_RETRY|RESPONSE|REQ_CONTENT_LENGTH_MISMATCH) /;
const hasNoTls = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG) | type InvalidContentType$/;
const hasOtherTls = /^ERR_SSL_(?:UNSUPPORTED_PROTOCOL|\S+_PROTOCOL_VERSION) | alert: ProtocolVersion$/;
const isUntrusted =
  /(?:SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY|UNKNOWN_CERT|CERT_UNTRUSTED)\w{0,40} |: UnknownIssuer$/;
/** A rejected certificate, by the codes of Node (OpenSSL's) and Bun, and by the message of Deno. */
const certificate =
  /^(?!ERR_SSL_)(?:\w{1,40}_)?(?:CERT|CRL|CERTIFICATE_VERIFICATION_ERROR)(?:_\w{1,40})? |^(?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH) |: invalid peer certificate: /;

/** What an error means for the origin, and what to do, by its {@link textOf | text}. The first match counts. */
const kinds: readonly (readonly [text: RegExp, what: string, advice?: string | (() => string | null)])[] = [
  [/^(?:ENOTFOUND|EAI_FAIL|EAI_NODATA) |: dns error: /, 'DNS knows no host of ORIGIN', checkDns],
  [/^EAI_AGAIN /, 'DNS did not respond for the host of ORIGIN', `${checkNetwork}, and "baseUrls"`],
  [/^(?:ECONNREFUSED|ConnectionRefused) |: Connection refused /, 'ORIGIN refused the connection', checkServer],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT) /, 'the connection to ORIGIN timed out', checkFirewall],
  [hasNoRoute, 'there is no route to ORIGIN', checkNetwork],
  [/[ (]407\b| proxy authentication required$/, 'the proxy wants a user and password to connect to ORIGIN', checkProxy],
  [hasNoTunnel, 'the proxy refused to connect to ORIGIN', checkProxy],
  [hasNoTls, 'ORIGIN does not speak TLS', checkPort],
  [hasOtherTls, 'ORIGIN and this runtime have no version of TLS in common', checkServer],
  [/^ERR_SSL_\S+ .|: received fatal alert: /, 'ORIGIN rejected the TLS handshake', checkServer],
  [/^CERT_HAS_EXPIRED |: certificate expired/, 'the certificate of ORIGIN has expired', mustRenew],
  [/^CERT_NOT_YET_VALID |: certificate not valid yet/, 'the certificate of ORIGIN is not valid yet', checkClock],
  [/^ERR_TLS_CERT_ALT|: certificate not valid for name /, 'the certificate of ORIGIN is for another host', checkHost],
  [isUntrusted, 'the certificate of ORIGIN is from an authority that this runtime does not trust', addAuthority],
  [certificate, 'the certificate of ORIGIN cannot be verified'],
  [/^ERR_ACCESS_DENIED .|^ Requires net /, 'this process may not connect to ORIGIN', 'start it with --allow-net'],
  [/ bad port$| are blocked$/, 'fetch connects to no service at the port of ORIGIN', checkPort],
  [/^UND_ERR_(?:CLOSED|DESTROYED) /, 'the dispatcher of "fetch" was closed before the response of ORIGIN'],
  [isWithheld, 'the dispatcher of "fetch" withheld the response of ORIGIN', mustOnlySend],
  [/^UND_MOCK_ERR_/, 'no mock of undici matches the request to ORIGIN'],
  [/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT /, 'ORIGIN did not respond within the time limit of fetch itself'],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE|EPROTO|UND_ERR_SOCKET|ConnectionClosed) /, broken],
];

function kindOf(error: PlatformError): (typeof kinds)[number] | undefined {
  const text = textOf(error);
  return kinds.find(([pattern]) => pattern.test(text));
}

/** The code, a blank, and the message. Without a message if the request may have been sent. */
function textOf(error: PlatformError): string {
  return `${error.code} ${isBeforeSending(error) ? error.message : ''}`;
}

/** System calls before a connection. */
const earlyCall = /^(?:connect|bind|getaddrinfo|query\w+)$/;
/** Codes without a system call: of undici, of Bun, and of DNS. */
const earlyCode =
  /^(?:UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ConnectionRefused|FailedToOpenSocket|ERR_PROXY_TUNNEL|ENOTFOUND|EAI_\w+)$/;
/** Codes that come before the request unless undici had begun it: a dispatcher can be closed, and TLS negotiate, later. */
const oftenEarlyCode =
  /^(?:UND_ERR_(?:CLOSED|DESTROYED)|ERR_SSL_(?:UNSUPPORTED_PROTOCOL|\S+_ALERT_(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION)))$/;
/**
 * Messages of Deno and undici for a request that was not sent. Deno has no codes, but its message names the step that
 * failed. The URL in it has no blanks. Bun's "The TLS handshake failed" is not included, because Bun also reports it for
 * sessions that break later.
 */
const earlyMessage =
  /^(?:error sending request for url \(\S*\): client error \(Connect\)|Requires net access |bad port$|Fetch failed: Requests to port \d{1,5} are blocked$)/;
/** A connection that breaks during a handshake counts as one that breaks later. */
const breaks = /^(?:ECONNRESET|ECONNABORTED|EPIPE)$/;

function isBeforeSending({ code, syscall, message, host, mayHaveBegun }: PlatformError): boolean {
  if (earlyCall.test(syscall) || earlyCode.test(code) || certificate.test(`${code} `)) return true;
  if (host !== undefined) return !breaks.test(code);
  return earlyMessage.test(message) || (oftenEarlyCode.test(code) && !mayHaveBegun);
}

// An error whose properties cannot be read may have happened at any step.
const unreadable: PlatformError = { code: '', syscall: '', message: '', host: undefined, mayHaveBegun: true };

// The code is on the error, on one of its causes, or on the errors of the IP addresses that were tried.
function errorsIn(error: unknown, depth = 0, outer: Partial<PlatformError> = {}): readonly PlatformError[] {
  try {
    if (!isRecord(error) || depth > 4) return [unreadable];
    const names = ['errors', 'code', 'cause', 'syscall', 'message'];
    const { errors, code, cause, syscall, message } = copyProperties(error, names);
    const { host, mayHaveBegun } = undiciStepOf(error);
    const step = { host: outer.host ?? host, mayHaveBegun: outer.mayHaveBegun === true || mayHaveBegun };
    if (Array.isArray(errors) && errors.length > 0) return errors.flatMap((each) => errorsIn(each, depth + 1, step));
    if (typeof code !== 'string' && isRecord(cause)) return errorsIn(cause, depth + 1, step);
    return [
      { code: typeof code === 'string' ? code : '', syscall: String(syscall), message: String(message), ...step },
    ];
  } catch {
    return [unreadable];
  }
}

/** Advises how this runtime is made to trust the authority of a certificate. */
function addAuthority(): string | null {
  const runtime = readProcessFacts()?.runtime;
  if (runtime === undefined) return null;
  const variable = runtime === 'deno' ? 'DENO_CERT' : 'NODE_EXTRA_CA_CERTS';
  return `if the authority belongs to you or to your proxy, set ${variable} to the path of the authority's certificate file before the process starts`;
}
