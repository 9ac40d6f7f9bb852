/**
 * Answers on their way out: what the service says, the signature beneath it, and the HTTP response.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import { writeJson } from '../runtime/prototype.js';
import { wireTime } from './dialect.js';
import type { Keys } from './keys.js';

/** What the service answers. Text is sent as it stands, anything else as JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How an answer is signed. */
export type Signing = 'fresh' | 'stale' | 'forged' | 'timestamp alone' | 'not at all';

/** What signing an answer takes. */
export interface AnswerSigning {
  readonly keys: Keys;
  /** The member that carries the signature. */
  readonly member: string;
  /** Of the request that is answered, as it came. */
  readonly requestTimestamp: unknown;
  readonly requestTimes: RequestTimes;
  /** Whether the answer has the request's own timestamp. */
  readonly echoes: boolean;
  readonly nowMs: number;
}

/** How much older than fresh a stale signature is. */
export const staleByMs = 3_600_000;

/** An error, as deployments answer it: HTTP 400 with text and code, unless told otherwise. */
export function refuse(error: string, code: string, status = 400): Answer {
  return { status, body: { error, code } };
}

/** The code of an operation's family: 23xx is job status (§7), 22xx is links in deployments. */
export function serviceCode(operation: OperationName, lastDigits: '01' | '03' | '05' | '13'): string {
  return (operation === 'jobs.status' ? '23' : '22') + lastDigits;
}

/** Signs what job status answers, or whatever a fault wants signed. */
export async function signAnswer(answer: Answer, how: Signing, signing: AnswerSigning): Promise<Answer> {
  if (how === 'not at all' || typeof answer.body !== 'object' || answer.body === null) return answer;
  const timestamp = how === 'stale' ? wireTime(signing.nowMs - staleByMs) : freshTimestamp(signing);
  const { keys, member } = signing;
  const signature = how === 'forged' ? await keys.forge(String(timestamp)) : await keys.sign(String(timestamp));
  return {
    ...answer,
    body: { timestamp, ...(how !== 'timestamp alone' && { [member]: signature }), ...answer.body },
  };
}

// With one key for both sides, the same timestamp makes the same signature, and an honest answer looks like
// a request sent back: never the time of a request, unless it is to be echoed.
function freshTimestamp({ requestTimestamp, requestTimes, echoes, nowMs }: AnswerSigning): unknown {
  if (echoes && requestTimestamp !== undefined) return requestTimestamp;
  let ms = nowMs;
  while (requestTimes.has(wireTime(ms))) ms -= 1;
  return wireTime(ms);
}

/** The timestamps that the latest requests carried. */
export interface RequestTimes {
  add(timestamp: unknown): void;
  has(timestamp: string): boolean;
}

/** How many timestamps are remembered: more than the attempts of any call. */
const keptTimes = 1_000;

/** Creates an empty memory of timestamps. */
export function createRequestTimes(): RequestTimes {
  const times = new Set<unknown>();
  return {
    add(timestamp) {
      times.add(timestamp);
      const [oldest] = times.size > keptTimes ? times : [];
      if (oldest !== undefined) times.delete(oldest);
    },
    has: (timestamp) => times.has(timestamp),
  };
}

/** The HTTP response of an answer. `headers` are those that every answer has. */
export function toResponse(answer: Answer, headers: Readonly<Record<string, string>>): Response {
  const isText = typeof answer.body === 'string';
  const contentType = isText ? 'text/html; charset=utf-8' : 'application/json';
  return new Response(bodyText(answer), {
    status: answer.status,
    headers: { ...headers, 'content-type': contentType, ...answer.headers },
  });
}

/** The statuses that the Fetch standard wants without a body. */
const bodilessStatuses = new Set([204, 205, 304]);

function bodyText({ status, body }: Answer): string | null {
  if (bodilessStatuses.has(status)) return null;
  return typeof body === 'string' ? body : writeJson(body);
}
