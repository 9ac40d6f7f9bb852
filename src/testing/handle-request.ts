/**
 * One request from arrival to answer: the order in which the service looks, acts and signs.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import type { Clock } from '../runtime/clock.js';
import { detachFromPrototype } from '../runtime/prototype.js';
import { admit, type Gate } from './authenticate.js';
import { holdingTime, sleepOn } from './clock.js';
import { type FaultQueue, faultySigning, faultyStatus, htmlPage, networkFailure, stall, truncate } from './faults.js';
import { type Office, serve } from './handlers.js';
import { isObject } from './request-rules.js';
import {
  type Answer,
  type RequestTimes,
  refuse,
  type Signing,
  serviceCode,
  signAnswer,
  toResponse,
} from './responses.js';
import { type Destination, findDestination } from './routing.js';
import type { MockFault } from './types.js';

/** A line of the request log. */
export interface LogLine {
  readonly operation: OperationName;
  readonly body: unknown;
  status: number;
  readonly at: number;
}

/** Everything an exchange passes by. */
export interface Desk {
  readonly gate: Gate;
  readonly office: Office;
  readonly faults: FaultQueue;
  readonly requests: LogLine[];
  readonly clock: Clock;
  readonly latencyMs: number;
  /** The timestamps of the latest requests: the service never signs for one of these. */
  readonly requestTimes: RequestTimes;
  /** A name for the next answer's `x-request-id`. */
  nextRequestId(): string;
}

/** What an operation was asked. */
interface Question {
  readonly operation: OperationName;
  readonly linkId: string;
  readonly body: unknown;
}

/** Answers a request; rejects where a fault or `signal` wants it to. */
export async function exchange(request: Request, signal: AbortSignal | undefined, desk: Desk): Promise<Response> {
  const { gate, clock, requests } = desk;
  signal?.throwIfAborted();
  const destination = findDestination(request.method, new URL(request.url).pathname, gate.wire);
  if (destination.operation === null) return respond(noSuchOperation(destination), desk);

  const question: Question = { ...destination, body: parseJson(await request.text()) };
  const { operation, body } = question;
  const line: LogLine = { operation, body, status: 0, at: clock.now() };
  requests.push(line);
  if (isObject(body)) desk.requestTimes.add(body.timestamp);

  const fault = desk.faults.take(operation);
  if (fault?.kind === 'network') throw networkFailure();
  if (fault?.kind === 'stall') return stall(signal);

  const answer = await holdingTime(clock, () => decide(question, fault, desk));
  line.status = answer.status;
  if (desk.latencyMs > 0) await sleepOn(clock, desk.latencyMs, signal);
  const signed = await holdingTime(clock, () => sign(answer, question, fault, desk));
  signal?.throwIfAborted();
  const response = respond(signed, desk);
  return fault?.kind === 'truncate' ? truncate(response) : response;
}

async function decide(question: Question, fault: MockFault | null, desk: Desk): Promise<Answer> {
  if (fault?.kind === 'status') return faultyStatus(fault, question.operation);
  const answer = await answerTo(question, desk);
  return fault?.kind === 'html' ? htmlPage : answer;
}

async function answerTo({ operation, linkId, body }: Question, { gate, office }: Desk): Promise<Answer> {
  if (!isObject(body)) return refuse('Invalid JSON', serviceCode(operation, '03'));
  const admission = await admit(body, operation, gate);
  if (admission.refused !== null) return refuse(admission.refused, serviceCode(operation, '05'));
  return serve(operation, { body, linkId }, office);
}

/** §4.5: job status is signed. Of links nothing is said, and nothing signed unless a fault wants it. */
function sign(answer: Answer, question: Question, fault: MockFault | null, desk: Desk): Promise<Answer> {
  const { gate, office, clock } = desk;
  const isJobStatus = question.operation === 'jobs.status';
  const isSigned = isJobStatus && answer.status === 200 && fault?.kind !== 'status';
  const usual: Signing = isSigned ? 'fresh' : 'not at all';
  return signAnswer(answer, faultySigning(fault, usual), {
    keys: gate.keys,
    member: isJobStatus ? office.say('sec_key', 'signature') : 'signature',
    requestTimestamp: isObject(question.body) ? question.body.timestamp : undefined,
    requestTimes: desk.requestTimes,
    echoes: gate.wire.echoesTimestamp,
    nowMs: clock.now(),
  });
}

function respond(answer: Answer, { clock, nextRequestId }: Desk): Response {
  return toResponse(answer, { date: new Date(clock.now()).toUTCString(), 'x-request-id': nextRequestId() });
}

function noSuchOperation({ status }: Destination & { operation: null }): Answer {
  return { status, body: { error: status === 404 ? 'Not found' : 'Method not allowed' } };
}

/** Null where the text is no JSON. */
function parseJson(text: string): unknown {
  try {
    return detachFromPrototype(JSON.parse(text));
  } catch {
    return null;
  }
}
