/**
 * Creates responses: their data, their signatures, and their HTTP form.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import { writeJson } from '../runtime/untrusted-objects.js';
import { writeTime } from './dialect.js';
import type { Keys } from './keys.js';
import type { ParsedTimestamp } from './timestamps.js';

/** The parts of a response. A string body is sent unchanged. Any other body is sent as JSON. */
export interface ResponseData {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a response is signed. */
export type Signing = 'fresh' | 'stale' | 'forged' | 'timestamp alone' | 'not at all';

export interface ResponseSigning {
  readonly keys: Keys;
  /** The name of the property for the signature. */
  readonly property: string;
  /** Null if the request has no timestamp that can be read. */
  readonly requestTimestamp: ParsedTimestamp | null;
  /** Whether the response is signed with the request's timestamp. */
  readonly echoes: boolean;
  readonly nowMs: number;
}

/** The age of a stale signature, in ms. */
export const staleByMs = 3_600_000;

/** Creates an error response with HTTP status 400, a message and a code. Real services respond in this form. */
export function createError(error: string, code: string, status = 400): ResponseData {
  return { status, body: { error, code } };
}

/** The code for an operation: 23xx for job status (§7), 22xx for links (seen in deployments). */
export function serviceCode(operation: OperationName, lastDigits: '01' | '03' | '05' | '13'): string {
  return (operation === 'jobs.status' ? '23' : '22') + lastDigits;
}

/** Signs a response whose body is an object. */
export async function signResponse(data: ResponseData, how: Signing, signing: ResponseSigning): Promise<ResponseData> {
  if (how === 'not at all' || typeof data.body !== 'object' || data.body === null) return data;
  const { keys, property, nowMs } = signing;
  const { sent, signedText } = how === 'stale' ? ofTime(nowMs - staleByMs) : createTimestamp(signing);
  const signature = how === 'forged' ? await keys.forge(signedText) : await keys.sign(signedText);
  return {
    ...data,
    body: { timestamp: sent, ...(how !== 'timestamp alone' && { [property]: signature }), ...data.body },
  };
}

// With HMAC, client and service have the same key, so the same timestamp gives the same signature. A client rejects a
// response that has the signature of its request. So a response has another timestamp than its request, unless the
// service echoes timestamps.
function createTimestamp({ requestTimestamp, echoes, nowMs }: ResponseSigning): ParsedTimestamp {
  if (echoes && requestTimestamp !== null) return requestTimestamp;
  return ofTime(requestTimestamp?.signedText === writeTime(nowMs) ? nowMs - 1 : nowMs);
}

function ofTime(ms: number): ParsedTimestamp {
  return { sent: writeTime(ms), signedText: writeTime(ms), ms };
}

/** A response as plain data. The platform's `Response` is not used, because it takes 20 ms to load in Node. */
export interface WrittenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null if a response with this status has no body. */
  readonly body: string | null;
  /** Whether the connection breaks in the middle of the body. */
  readonly isTruncated: boolean;
}

/** Writes a response. `headers` are sent with every response. */
export function writeResponse(data: ResponseData, headers: Readonly<Record<string, string>>): WrittenResponse {
  const { status } = data;
  if (!(status >= 200 && status <= 599)) throw new RangeError(`A response cannot have the status ${status}`);
  const contentType = typeof data.body === 'string' ? 'text/html; charset=utf-8' : 'application/json';
  const all = { ...headers, 'content-type': contentType, ...data.headers };
  return { status, headers: all, body: bodyOf(data), isTruncated: false };
}

/** By the Fetch standard, responses with these statuses have no body. */
const bodilessStatuses = new Set([204, 205, 304]);

function bodyOf({ status, body }: ResponseData): string | null {
  if (bodilessStatuses.has(status)) return null;
  return typeof body === 'string' ? body : writeJson(body);
}

/** The first half of a body, which arrives before the connection breaks. */
export function firstHalf(body: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(body);
  return bytes.subarray(0, Math.ceil(bytes.length / 2));
}
