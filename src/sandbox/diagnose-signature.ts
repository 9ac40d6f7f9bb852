/**
 * Finds out why a signature is not accepted. The sandbox knows the keys. For each usual mistake, it computes the
 * signature that results from the mistake, and compares it with the received signature. No message contains a key or a
 * signature.
 *
 * @module
 */

import { assumedSignatureContext, type Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import { authWindowMs, parseTimestamp, signaturePropertyOf } from '../testing/authenticate.js';
import { mistakesOf, type SignedRequest, type SigningFacts, type WrongRequest } from './signing-mistakes.js';
import type { SignatureProblem } from './types.js';

/** The mistake in a signature, and one sentence that says what to do. */
export interface Diagnosis {
  readonly problem: SignatureProblem | null;
  readonly message: string;
  /** The text that must be signed; undefined if the timestamp cannot be read. */
  readonly expectedText?: string;
  /** The text that was signed instead, if the mistake shows it. */
  readonly signedText?: string;
}

/** Says whether a request is correctly signed, and names the mistake if it is not. */
export async function diagnoseSignature(request: SignedRequest, facts: SigningFacts): Promise<Diagnosis> {
  const { body, operation, environment, nowMs } = request;
  const property = signaturePropertyOf(body, operation, facts.wire);
  for (const name of ['partner_id', 'timestamp', property]) {
    if (body[name] !== undefined) continue;
    const isRenamed = name === 'signature' && body.sec_key !== undefined;
    const reason = isRenamed ? 'only job status accepts "sec_key" in its place' : 'it is missing in the request';
    return found('missing', `Send "${name}": ${reason}`);
  }
  const partner = findPartnerProblem(body.partner_id, facts.partnerId);
  if (partner !== null) return partner;

  const timestamp = parseTimestamp(body, operation, facts.wire);
  if (timestamp === null) return found('timestamp_text', unreadableTimestamp(operation, facts.wire));
  const expectedText = timestamp.signedText + facts.partnerId + assumedSignatureContext;
  const offMs = timestamp.ms - nowMs;
  if (Math.abs(offMs) > authWindowMs) return { ...found('stale', staleMessage(offMs)), expectedText };

  const signature = body[property];
  if (typeof signature !== 'string') return found('encoding', `Send "${property}" as a base64 string`);
  const isSignatureOf = async (text: string) => signature === (await facts.sign(environment, text, facts.partnerId));
  if (await isSignatureOf(timestamp.signedText)) return { ...genuine, expectedText };
  // The digits of a number were signed, and not its ISO form.
  if (await isSignatureOf(String(timestamp.sent))) {
    return found('timestamp_text', unreadableTimestamp(operation, facts.wire));
  }
  return { ...(await explain({ ...request, signature, property, timestamp }, facts)), expectedText };
}

const genuine: Diagnosis = { problem: null, message: 'The signature is right' };

function found(problem: SignatureProblem, message: string): Diagnosis {
  return { problem, message };
}

function findPartnerProblem(given: unknown, partnerId: string): Diagnosis | null {
  if (given === partnerId) return null;
  const isNumber = typeof given === 'number' || (typeof given === 'string' && /^\d{1,15}$/.test(given));
  if (isNumber && /^\d{1,15}$/.test(partnerId) && Number(given) === Number(partnerId)) {
    return found('leading_zeros', `Send and sign "partner_id" as the string "${partnerId}", with its leading zeros`);
  }
  return found('partner', `Send "partner_id" as the string "${partnerId}": the sandbox knows no other partner`);
}

const formats = {
  iso: 'a string in ISO 8601, such as "2026-01-31T12:00:00.000Z"',
  'epoch-ms': 'milliseconds since 1970',
  'epoch-s': 'seconds since 1970',
} as const;

function unreadableTimestamp(operation: OperationName, wire: Wire): string {
  const isJobStatus = operation === 'jobs.status';
  const format = isJobStatus ? wire.jobTimestampFormat : wire.timestampFormat;
  const kind = format === 'iso' ? '' : `, as ${isJobStatus ? 'a number' : 'a string'}`;
  return `Send and sign "timestamp" as ${formats[format]}${kind}`;
}

function staleMessage(offMs: number): string {
  const minutes = Math.round(Math.abs(offMs) / 60_000);
  const direction = offMs < 0 ? 'behind' : 'ahead of';
  const hours = Math.round(minutes / 60);
  if (hours <= 14 && Math.abs(minutes - hours * 60) <= 1) {
    const off = `${hours} h ${direction} this machine's clock, as in another time zone`;
    return `Write the timestamp in UTC: it is ${off}. If it is UTC, set the sender's clock correctly`;
  }
  return `Sign just before you send, and set the sender's clock correctly: the timestamp is ${minutes} min ${direction} this machine's clock`;
}

/** Finds the mistake that results in the received signature. */
async function explain(request: WrongRequest, facts: SigningFacts): Promise<Diagnosis> {
  for (const { problem, message, candidates } of mistakesOf(request, facts)) {
    for (const candidate of await candidates()) {
      const [signature, signedText] = typeof candidate === 'string' ? [candidate] : candidate;
      if (signature === request.signature) return { ...found(problem, message), ...(signedText && { signedText }) };
    }
  }
  const text = `timestamp, partner id and "${assumedSignatureContext}"`;
  const message = `Check that the key is the key of the environment "${request.environment}", and that the signed text is ${text} without separators: none of the usual mistakes explains this signature`;
  return found('other', message);
}
