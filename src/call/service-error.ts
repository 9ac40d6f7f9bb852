/**
 * What an answer's HTTP status and service code mean, before anything in it is believed
 * (docs/protocol.md §7). A forged error can cost an exception; it never makes a status.
 *
 * @module
 */

import { type AnyHostedError, HostedTimeoutError } from '../errors/errors.js';
import type { Particulars } from '../errors/hosted-error.js';
import { cannot } from '../errors/messages.js';
import {
  HostedApiError,
  HostedAuthenticationError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedServerError,
  type Refusal,
} from '../errors/service-errors.js';
import type { Environment } from '../options.js';
import {
  assumedBlockedCode,
  assumedCodes,
  assumedRequestIdHeaders,
  assumedTransientStatuses,
  type CodeMeaning,
} from '../protocol/assumptions.js';
import { isRecord } from '../protocol/json.js';
import type { OperationName } from '../protocol/routes.js';
import { describeSkew } from './clock-skew.js';
import { readRetryAfter } from './retry.js';
import type { Answer } from './transport.js';

/** Which call an answer belongs to. */
export interface Site {
  readonly operation: OperationName;
  readonly repeatable: boolean;
  readonly environment: Environment;
  readonly attempts: number;
  /** Whether an earlier attempt of the call was sent, and may have been acted on. */
  readonly isUnsettled: boolean;
  readonly now: number;
  /** The signatures that the service was sent, and may hand back. */
  readonly sentSignatures: Iterable<string>;
}

type Meaning = CodeMeaning | 'rate_limit' | 'timeout';

/** The error an answer stands for; null where it is no error and may be verified and decoded. */
export function refusalIn(answer: Answer, json: unknown, site: Site): AnyHostedError | null {
  // Whoever a redirect was followed to is not the service, whatever it says.
  if (answer.flaw === 'redirect') return null;
  const serviceCode = codeIn(json);
  const meaning = meaningOf(answer.status, serviceCode, json);
  if (meaning === null) return null;

  const refusal: Refusal = {
    ...answer,
    serviceCode,
    serviceMessage: messageIn(json),
    retryAfterMs: readRetryAfter(answer.headers.get('retry-after'), site.now),
  };
  const retryable = isRetryable(meaning, refusal, site.repeatable);
  const particulars: Particulars = {
    operation: site.operation,
    outcome: 'refused',
    attempts: site.attempts,
    requestId: requestIdIn(answer.headers, site.sentSignatures),
    retryable,
    // A gateway can say so after the service behind it has acted.
    mayHaveActed: site.isUnsettled || meaning === 'timeout' || meaning === 'server',
  };
  const said = serviceCode === null ? `status ${answer.status}` : `status ${answer.status}, code ${serviceCode}`;
  const message = (why: string) => cannot(site.operation, `${why} (${said})`);

  switch (meaning) {
    case 'rate_limit': {
      const why = retryable
        ? 'the service has had too many requests'
        : 'the service blocks this ID number, which waiting does not lift';
      return new HostedRateLimitError(message(why), refusal, particulars);
    }
    case 'authentication': {
      const apart = describeSkew(answer.headers, site.now);
      const why = `the service does not accept the signature; check that partner id and key are those of the ${site.environment} environment${apart ? `, and the time: ${apart}` : ''}`;
      return new HostedAuthenticationError(message(why), refusal, particulars);
    }
    case 'not_found':
      return new HostedNotFoundError(message('the service knows no such link or job'), refusal, particulars);
    case 'timeout':
      return new HostedTimeoutError(
        message('the service stopped waiting for the request'),
        'attempt',
        particulars,
        refusal.retryAfterMs,
      );
    case 'server':
      return new HostedServerError(message('the service is in trouble'), refusal, particulars);
    case 'api':
      return new HostedApiError(message('the service refused the request'), refusal, particulars);
  }
}

/**
 * Finds the id that the service gave a request, where it gave one that may be shown. A service that
 * echoes what it was sent could put a signature there: an id that has a part of one is dropped.
 */
export function requestIdIn(headers: Headers, sentSignatures: Iterable<string>): string | null {
  // Node's fetch leaves the blanks behind a value, which are no part of it (RFC 9110 §5.5).
  const ids = assumedRequestIdHeaders
    .map((name) => headers.get(name)?.trim() ?? '')
    .filter((id) => /^[\w.:=+/-]{1,128}$/.test(id));
  if (ids.length === 0) return null;
  const signatures = [...sentSignatures];
  return ids.find((id) => !signatures.some((signature) => hasPartOf(id, signature))) ?? null;
}

/** How many characters make a part of a signature: no id shares as many with one by coincidence. */
const partLength = 8;

// By parts, so that 15 characters in a row are found wherever they begin in either of the two.
function hasPartOf(id: string, signature: string): boolean {
  if (signature.length < partLength) return id === signature;
  const [text, secret] = [standardBase64(id), standardBase64(signature)];
  for (let from = 0; from + partLength <= secret.length; from += partLength) {
    if (text.includes(secret.slice(from, from + partLength))) return true;
  }
  return false;
}

// The alphabet of URLs (RFC 4648 §5) writes two characters otherwise.
function standardBase64(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}

function meaningOf(status: number, code: string | null, json: unknown): Meaning | null {
  if (status === 429) return 'rate_limit';
  if (status === 401 || status === 403) return 'authentication';
  const byCode = code === null ? undefined : assumedCodes.get(code);
  if (byCode) return byCode;
  if (status === 404) return 'not_found';
  if (status === 408) return 'timeout';
  if (status >= 500) return 'server';
  if (status >= 400) return 'api';
  return isRecord(json) && json.error ? 'api' : null;
}

// Create too may be repeated after 429: the service says it did not act.
function isRetryable(meaning: Meaning, { status, serviceCode }: Refusal, repeatable: boolean): boolean {
  if (meaning === 'rate_limit') return serviceCode !== assumedBlockedCode;
  const said = serviceCode !== null && assumedCodes.get(serviceCode) === 'server';
  const transient = meaning === 'timeout' || (meaning === 'server' && (said || assumedTransientStatuses.has(status)));
  return repeatable && transient;
}

// Shown in messages and logs, so nothing but digits: what else stands there may be anything.
function codeIn(json: unknown): string | null {
  const code =
    isRecord(json) && (typeof json.code === 'number' || typeof json.code === 'string') ? String(json.code) : '';
  return /^\d{1,6}$/.test(code) ? code : null;
}

function messageIn(json: unknown): string | null {
  if (!isRecord(json)) return null;
  const said = [json.error, json.message, json.result].find((text) => typeof text === 'string' && text !== '');
  return typeof said === 'string' ? said : null;
}
