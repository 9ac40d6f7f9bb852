/**
 * Explains errors: why the service cannot be reached, why it does not accept a signature, and what to do next. A
 * message names the origin of a URL, but never its path, and never a part of a key.
 *
 * @module
 */

import type { ConnectionFailure } from '../runtime/connection-failure.js';
import { readProcessFacts } from '../runtime/env-proxy.js';
import { platformFetch } from '../runtime/fetch.js';
import { findUnusedProxy } from '../runtime/unused-proxy.js';
import type { Settings } from '../settings.js';
import { hasBlanks } from '../signing/hmac-sha256.js';
import { describeSkew } from './clock-skew.js';

/** The last advice of every explanation: this command tests each part of the configuration. */
export const adviceToDiagnose = '"npx hosted-client doctor" checks the rest of the configuration';

/** Explains why a request has no response. */
export function explainFailure(failure: ConnectionFailure, origin: string, { fetch }: Settings): string {
  const [what, advice] = explain(failure, origin);
  const reason = failure.reason === null ? '' : ` (${failure.reason})`;
  const isPlatforms = fetch === platformFetch || fetch === globalThis.fetch;
  const hints = isPlatforms && failure.isNotSent ? hintsAboutFetch(failure, origin) : [];
  return [`${what}${reason}${advice ? `: ${advice}` : ''}`, ...hints, adviceToDiagnose].join('; ');
}

// What is wrong, and what to do about it; null if there is no advice.
function explain(
  { reason, step, isNotSent }: ConnectionFailure,
  origin: string,
): readonly [what: string, advice: string | null] {
  const like = reason ?? codeFor(step);
  const row = like === null ? undefined : explanations.find(([codes]) => codes.split(' ').includes(like));
  if (row) {
    const [, what, advice] = row;
    return [what.replace('ORIGIN', () => origin), typeof advice === 'function' ? advice() : advice];
  }
  if (like !== null && /CERT|CA$|PURPOSE|PATH_LENGTH/.test(like)) {
    return [`the certificate of ${origin} cannot be verified`, null];
  }
  return [isNotSent ? `no connection could be made to ${origin}` : `the connection to ${origin} broke`, null];
}

const authorityCodes =
  'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE UNKNOWN_CERTIFICATE_VERIFICATION_ERROR CERT_UNTRUSTED';
const tlsVersionCodes =
  'ERR_SSL_UNSUPPORTED_PROTOCOL ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION';

/** The codes of connection errors, what they mean for the origin, and what to do. */
const explanations: readonly (readonly [codes: string, what: string, advice: string | null | (() => string | null)])[] =
  [
    ['ENOTFOUND EAI_FAIL EAI_NODATA', 'DNS knows no host of ORIGIN', 'check "baseUrls", and the DNS of this machine'],
    ['EAI_AGAIN', 'DNS did not respond for the host of ORIGIN', 'check the network of this machine, and "baseUrls"'],
    ['ECONNREFUSED ConnectionRefused', 'ORIGIN refused the connection', 'check host and port in "baseUrls"'],
    ['EHOSTUNREACH ENETUNREACH', 'there is no route to ORIGIN', 'check the network of this machine'],
    [
      'ETIMEDOUT UND_ERR_CONNECT_TIMEOUT',
      'the connection to ORIGIN timed out',
      'check host and port in "baseUrls", and the firewall',
    ],
    [
      'UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT',
      'ORIGIN did not respond within the time limit of fetch itself',
      null,
    ],
    ['NET_PERMISSION', 'Deno may not connect to ORIGIN', 'start Deno with --allow-net'],
    [
      'CERT_HAS_EXPIRED',
      'the certificate of ORIGIN has expired',
      'the server must renew it, unless the clock of this machine is wrong',
    ],
    ['CERT_NOT_YET_VALID', 'the certificate of ORIGIN is not valid yet', 'check the clock of this machine'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate of ORIGIN is for another host', 'check the host in "baseUrls"'],
    [
      authorityCodes,
      'the certificate of ORIGIN is from an authority that this runtime does not trust',
      adviceAboutAuthority,
    ],
    [
      'ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG',
      'ORIGIN does not speak TLS',
      'check the port in "baseUrls"',
    ],
    [tlsVersionCodes, 'ORIGIN and this runtime have no version of TLS in common', 'check host and port in "baseUrls"'],
  ];

/**
 * Parts of Deno's messages, each with the code that Node uses for the same error (`NET_PERMISSION` is our own). If a
 * message contains several parts, the first part in this list decides.
 */
const denoSteps: readonly (readonly [text: string, code: string])[] = [
  ['Requires net access ', 'NET_PERMISSION'],
  [': dns error: ', 'ENOTFOUND'],
  [': Connection refused ', 'ECONNREFUSED'],
  [': received corrupt message of type InvalidContentType', 'ERR_SSL_WRONG_VERSION_NUMBER'],
  [': invalid peer certificate: UnknownIssuer', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  [': certificate not valid for name ', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  [': certificate expired', 'CERT_HAS_EXPIRED'],
  [': certificate not valid yet', 'CERT_NOT_YET_VALID'],
  [': invalid peer certificate: ', 'CERT_REJECTED'],
];

function codeFor(step: string | null): string | null {
  return denoSteps.find(([text]) => step?.includes(text))?.[1] ?? null;
}

function adviceAboutAuthority(): string | null {
  const runtime = readProcessFacts()?.runtime;
  if (runtime === undefined) return null;
  const variable = runtime === 'deno' ? 'DENO_CERT' : 'NODE_EXTRA_CA_CERTS';
  return `if the authority belongs to you or to your proxy, set ${variable} to the path of the authority's certificate file before the process starts`;
}

function hintsAboutFetch(failure: ConnectionFailure, origin: string): readonly string[] {
  const hints: string[] = [];
  // If a certificate was rejected, a connection was made. So a missing proxy is not the cause.
  const variable = failure.isLasting ? null : findUnusedProxy(origin);
  if (variable !== null) {
    hints.push(
      `${variable} is set, but Node's fetch uses it only with NODE_USE_ENV_PROXY=1 (Node 22.21, 24.5 or later)`,
    );
  }
  // No real host has a name that ends in `.test` (RFC 6761 §6.2). The hosts of the testing kit have such names.
  if (new URL(origin).hostname.endsWith('.test')) {
    hints.push(
      'only the testing kit\'s own fetch can reach the hosts of the testing kit: pass "fetch: service.fetch" to the client',
    );
  }
  return hints;
}

/**
 * If the clocks differ by at most this many ms, the difference is not mentioned, because it is unlikely to be the cause
 * of the rejection.
 */
const unsuspiciousMs = 5_000;

/**
 * Lists possible reasons why the service does not accept a signature, each with what to do. The response arrived at
 * `now`, after `tookMs`.
 */
export function explainRejection(
  { headers, now, tookMs }: { readonly headers: Headers; readonly now: number; readonly tookMs: number },
  settings: Settings,
): readonly string[] {
  const { partnerId, signer } = settings;
  const hints: string[] = [];
  if (hasBlanks(signer)) hints.push('the key contains a blank: copy it again');
  // §8: a partner id has 3 characters.
  if (/^\d{1,2}$/.test(partnerId)) {
    hints.push('the partner id has fewer than 3 digits, and may have lost a zero at its start: write it as a string');
  }
  const skew = describeSkew(headers, now, unsuspiciousMs + tookMs);
  if (skew !== null) hints.push(`${skew}: set the clock (NTP)`);
  if (/^text\/html\b/i.test(headers.get('content-type') ?? '')) {
    hints.push('the response is a web page: a proxy or gateway may have sent it in place of the service');
  }
  return [...hints, adviceToDiagnose];
}
