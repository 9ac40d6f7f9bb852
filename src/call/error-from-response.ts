/**
 * Decides whether a response is an error, from its HTTP status, its service code and its `error` field. At this point,
 * the response is not verified yet. So a forged error response can make a call fail, but it can never give the caller a
 * job status (docs/protocol.md §7).
 *
 * @module
 */

import { type AnyHostedError, HostedTimeoutError } from '../errors/client-errors.js';
import type { ErrorFacts, ErrorResponse } from '../errors/hosted-error.js';
import {
  HostedApiError,
  HostedAuthenticationError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedServerError,
} from '../errors/service-errors.js';
import {
  assumedBlockedCode,
  assumedCodes,
  assumedRequestIdHeaders,
  assumedTransientStatuses,
  type CodeMeaning,
} from '../protocol/assumptions.js';
import { parseHttpDate } from '../protocol/date-time.js';
import { isLoopback } from '../protocol/http-url.js';
import { toCode, toText } from '../protocol/scalars.js';
import type { Properties } from '../runtime/untrusted-objects.js';
import { keyWarningsOf } from '../signing/hmac-sha256.js';
import { type Attempt, factsOf, originOf } from './attempt.js';
import { describeSkew } from './clock-skew.js';
import { adviceToDiagnose } from './connection-failure.js';
import type { TransportResponse } from './transport.js';

type Meaning = CodeMeaning | 'rate_limit' | 'timeout';

/** A response, and the attempt that received it. */
export interface Received {
  readonly response: TransportResponse;
  readonly attempt: Attempt;
  /** The id that the service gave the request; null if it gave none. */
  readonly requestId: string | null;
}

/**
 * Creates the error for a response. Returns null if the response is not an error: the caller then verifies and decodes
 * it. `properties` is the JSON object of the body; null if the body is not a JSON object.
 */
export function createServiceError(received: Received, properties: Properties | null): AnyHostedError | null {
  const { response, attempt, requestId } = received;
  // `response.ts` rejects redirects. After a redirect, a response may look like the service's, but it is from another
  // server.
  if (response.flaw === 'redirect') return null;
  const serviceCode = codeIn(properties);
  const meaning = meaningOf(response.status, serviceCode, properties);
  if (meaning === null) return null;

  const { status, headers, receivedAt } = response;
  const { operation, shared } = attempt.call;
  const retryAfterMs = readRetryAfter(headers.get('retry-after') ?? '', receivedAt);
  const error: ErrorResponse = { ...response, serviceCode, serviceMessage: messageIn(properties), retryAfterMs };
  const known = factsOf(attempt, 'refused');
  const retryable = isRetryable(meaning, error, known.retryable);
  const mayHaveActed = attempt.mayHaveActedBefore || !isSurelyRefused(meaning, status);
  const facts: ErrorFacts = { ...known, requestId, retryable, mayHaveActed };
  const said = serviceCode === null ? `status ${status}` : `status ${status}, code ${serviceCode}`;

  const { environment, otherEnvironments } = shared.settings;
  const page = pageOfSandbox(received);
  switch (meaning) {
    case 'rate_limit': {
      const why = retryable
        ? 'the service has received too many requests'
        : 'the service blocks this ID number, and waiting does not change that';
      return new HostedRateLimitError(`${why} (${said})${page}`, error, facts);
    }
    case 'authentication': {
      const others = otherEnvironments.map((name) => `, not of ${name}`).join('');
      const keys = `check that partner id and key are those of the ${environment} environment${others}`;
      const hints = explainRejection(received);
      const why = [`the service does not accept the signature (${said})`, keys, ...hints].join('; ');
      return new HostedAuthenticationError(`${why}${page}`, error, facts);
    }
    case 'not_found': {
      const what =
        operation.name === 'links.list'
          ? 'list of links at this URL: check "baseUrls" and "wire"; a link may exist all the same'
          : `such ${operation.name === 'jobs.status' ? 'job' : 'link'}`;
      const isPage = isWebPage(headers) && serviceCode === null;
      const why = isPage ? describeWebPage(attempt) : `the ${environment} environment knows no ${what}`;
      return new HostedNotFoundError(`${why} (${said})${page}`, error, facts);
    }
    case 'timeout': {
      const limit = { phase: 'attempt', timeoutMs: null, retryAfterMs } as const;
      return new HostedTimeoutError(`the service timed out (${said})${page}`, limit, facts);
    }
    case 'server':
      return new HostedServerError(`the service failed (${said})${page}`, error, facts);
    case 'api':
      return new HostedApiError(`the service rejected the request (${said})${page}`, error, facts);
  }
}

/**
 * If the clocks differ by at most this many ms, the difference is not mentioned, because it is unlikely to be the cause
 * of the rejection.
 */
const unsuspiciousMs = 5_000;

/** Lists possible reasons why the service does not accept a signature, each with what to do. Shows no part of a key. */
function explainRejection({ response, attempt }: Received): readonly string[] {
  const { headers, receivedAt } = response;
  const { partnerId, signer, clock } = attempt.call.shared.settings;
  const copied = keyWarningsOf(signer).filter(({ kind }) => kind === 'copied');
  const hints = copied.map(({ message }) => `the key ${message}`);
  // §8: a partner id has 3 characters.
  if (/^\d{1,2}$/.test(partnerId)) {
    hints.push('the partner id has fewer than 3 digits, and may have lost a zero at its start: write it as a string');
  }
  const skew = describeSkew(headers, receivedAt, unsuspiciousMs + clock.elapsed() - attempt.startedAt);
  if (skew !== null) hints.push(`${skew}: set the clock (NTP)`);
  if (isWebPage(headers)) {
    const page = `the response is a web page from ${originOf(attempt.call)}`;
    hints.push(`${page}: a proxy or gateway may have sent it in place of the service`);
  }
  return [...hints, adviceToDiagnose];
}

/** The hint of a sandbox on this machine: a code, and the page of its console about the request. */
const sandboxHint = /^\w{1,40}; (http:\/\/[\w.:[\]]{1,60}\/console\/requests\/\d{1,16})$/;

/** Names the page that explains the response, if a sandbox on this machine sent it; otherwise empty. */
function pageOfSandbox({ response, attempt }: Received): string {
  const [, page = ''] = sandboxHint.exec(response.headers.get('x-sandbox-hint') ?? '') ?? [];
  const isLocal = [originOf(attempt.call), page].every((url) => isLoopback(URL.parse(url)?.hostname ?? ''));
  return isLocal ? `; ${page} explains it` : '';
}

/** Whether a response is a web page. A gateway or another server may send a web page. */
export function isWebPage(headers: Headers): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '');
}

/** The message if a web page was received in place of a response of the service. */
export function describeWebPage({ call }: Attempt): string {
  return `it is a web page from ${originOf(call)}: check that "baseUrls" has the URL of the service`;
}

/**
 * Finds the id that the service gave a request. A service that repeats its input could put our signature into the header
 * of the id, or an id of a person, a job or a link. Such an id is not used.
 */
export function requestIdIn(headers: Headers, { call, signed }: Pick<Attempt, 'call' | 'signed'>): string | null {
  const own = [signed?.signature.slice(0, 16), call.encoded.linkId, ...Object.values(call.encoded.body)];
  // Node's fetch keeps blanks after a header's value. They are not part of the value (RFC 9110 §5.5).
  const ids = assumedRequestIdHeaders.map((name) => headers.get(name)?.trim() ?? '');
  return ids.find((id) => /^[\w.:=+/-]{1,128}$/.test(id) && !own.some((given) => isIn(given, id))) ?? null;
}

// Nearly every id has a short text somewhere, so a short text counts only between other characters than letters and digits.
function isIn(given: unknown, id: string): boolean {
  if (typeof given !== 'string' || given === '') return false;
  return given.length > 3 ? id.includes(given) : id.split(/[^A-Za-z0-9]/).includes(given);
}

function meaningOf(status: number, code: string | null, properties: Properties | null): Meaning | null {
  if (status === 429) return 'rate_limit';
  if (status === 401 || status === 403) return 'authentication';
  const byCode = assumedCodes.get(code ?? '');
  if (byCode) return byCode;
  if (status === 404) return 'not_found';
  if (status === 408) return 'timeout';
  if (status >= 500 || assumedTransientStatuses.has(status)) return 'server';
  if (status >= 400) return 'api';
  return properties?.error ? 'api' : null;
}

// A gateway can send a timeout or a server error after the service has acted. With a 2xx or 5xx, the service may have
// acted, too, whatever the code says.
function isSurelyRefused(meaning: Meaning, status: number): boolean {
  return status >= 400 && status < 500 && meaning !== 'timeout' && meaning !== 'server';
}

// After status 429, even a create is retried: with this status, the service says that it did not act.
function isRetryable(meaning: Meaning, { status, serviceCode }: ErrorResponse, repeatable: boolean): boolean {
  if (meaning === 'rate_limit') return serviceCode !== assumedBlockedCode;
  const said = assumedCodes.get(serviceCode ?? '') === 'server';
  const transient = meaning === 'timeout' || (meaning === 'server' && (said || assumedTransientStatuses.has(status)));
  return repeatable && transient;
}

// Messages and logs show the code, so only digits are accepted. Any other text may contain a secret.
function codeIn(properties: Properties | null): string | null {
  const code = toCode(properties?.code);
  return code !== null && /^\d{1,6}$/.test(code) ? code : null;
}

function messageIn(properties: Properties | null): string | null {
  return toText(properties?.error) ?? toText(properties?.message) ?? toText(properties?.result);
}

/**
 * Reads `Retry-After` as milliseconds. The header has whole seconds or an IMF date (RFC 9110 §10.2.3 and §5.6.7). Null
 * for any other value; 0 for a date in the past.
 */
function readRetryAfter(header: string, now: number): number | null {
  // Node's fetch keeps blanks after a header's value. They are not part of the value (RFC 9110 §5.5).
  const value = header.trim();
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  const at = parseHttpDate(value);
  return at === null ? null : Math.max(0, at - now);
}
