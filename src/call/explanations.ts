/**
 * Explains why the service does not accept a signature, and what to do next. A message never shows a part of a key.
 *
 * @module
 */

import type { Settings } from '../settings.js';
import { hasBlanks } from '../signing/hmac-sha256.js';
import { describeSkew } from './clock-skew.js';

/** The last advice of every explanation: this command tests each part of the configuration. */
export const adviceToDiagnose = '"npx hosted-client doctor" checks the rest of the configuration';

/**
 * If the clocks differ by at most this many ms, the difference is not mentioned, because it is unlikely to be the cause
 * of the rejection.
 */
const unsuspiciousMs = 5_000;

/** A response that rejects a signature: when it arrived, how long it took, and where it is from. */
interface Rejection {
  readonly headers: Headers;
  readonly now: number;
  readonly tookMs: number;
  readonly origin: string;
}

/**
 * Lists possible reasons why the service does not accept a signature, each with what to do. The response arrived at
 * `now`, after `tookMs`.
 */
export function explainRejection({ headers, now, tookMs, origin }: Rejection, settings: Settings): readonly string[] {
  const { partnerId, signer } = settings;
  const hints: string[] = [];
  if (hasBlanks(signer)) hints.push('the key contains a blank: copy it again');
  // §8: a partner id has 3 characters.
  if (/^\d{1,2}$/.test(partnerId)) {
    hints.push('the partner id has fewer than 3 digits, and may have lost a zero at its start: write it as a string');
  }
  const skew = describeSkew(headers, now, unsuspiciousMs + tookMs);
  if (skew !== null) hints.push(`${skew}: set the clock (NTP)`);
  if (isWebPage(headers)) {
    hints.push(
      `the response is a web page from ${origin}: a proxy or gateway may have sent it in place of the service`,
    );
  }
  return [...hints, adviceToDiagnose];
}

/** Whether a response is a web page. A gateway or another server may send a web page. */
export function isWebPage(headers: Headers): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '');
}
