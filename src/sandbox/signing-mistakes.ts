/**
 * The usual mistakes in signing, each with the signatures that result from it. No message contains a key or a
 * signature.
 *
 * @module
 */

import { createHash, createHmac } from 'node:crypto';
import { type Environment, environments } from '../options.js';
import { assumedSignatureContext, type Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Body } from '../testing/request-rules.js';
import type { ParsedTimestamp } from '../testing/timestamps.js';
import type { SignatureProblem } from './types.js';

/** The keys and names that are needed to sign requests. */
export interface SigningFacts {
  readonly partnerId: string;
  readonly wire: Wire;
  /** Creates the correct signature of a timestamp and a partner id, with the key of an environment. */
  sign(environment: Environment, timestamp: string, partnerId: string): Promise<string>;
  /** The keys of HMAC; null with another scheme. Without these keys, fewer mistakes can be recognised. */
  readonly apiKeys: Readonly<Record<Environment, string>> | null;
}

/** A request for an operation. */
export interface SignedRequest {
  readonly environment: Environment;
  readonly operation: OperationName;
  readonly body: Body;
  readonly nowMs: number;
}

/** A request whose signature is wrong. */
export interface WrongRequest extends SignedRequest {
  readonly signature: string;
  /** The name of the property with the signature. */
  readonly property: string;
  readonly timestamp: ParsedTimestamp;
}

/** A mistake, and the signatures that result from it. */
export interface Mistake {
  readonly problem: SignatureProblem;
  readonly message: string;
  candidates(): Promise<readonly Candidate[]> | readonly Candidate[];
}

/** A signature, with the text that was signed if showing it helps. */
type Candidate = string | readonly [signature: string, signedText: string];

/** The mistakes that may explain a signature, in the order in which they are tried. */
export function mistakesOf(request: WrongRequest, facts: SigningFacts): readonly Mistake[] {
  const { environment, timestamp } = request;
  const { sign, partnerId, wire, apiKeys } = facts;
  const { signedText } = timestamp;
  const text = textOf(signedText, partnerId);
  /** Without the key of HMAC, its mistakes have no signatures. */
  const ofKey = (create: (key: string) => readonly Candidate[]) => () => (apiKeys ? create(apiKeys[environment]) : []);
  const signed = (messages: readonly string[]) =>
    ofKey((key) => messages.map((message) => [base64(message, key), message] as const));
  return [
    {
      problem: 'leading_zeros',
      message: 'Sign the partner id with its leading zeros: the signed text has the partner id without them',
      async candidates() {
        const bare = partnerId.replace(/^0+/, '');
        return bare === partnerId ? [] : [[await sign(environment, signedText, bare), textOf(signedText, bare)]];
      },
    },
    {
      problem: 'timestamp_text',
      message:
        'Sign exactly the string that is sent as "timestamp": the signed text has the time in another form, or has another time',
      candidates: () =>
        Promise.all(
          spellingsOf(timestamp).map(
            async (other) => [await sign(environment, other, partnerId), textOf(other, partnerId)] as const,
          ),
        ),
    },
    {
      problem: 'other_environment',
      message:
        'Use the key of the environment that the request is sent to: this signature was made with the key of another environment',
      candidates: () => Promise.all(environments.map((name) => sign(name, signedText, partnerId))),
    },
    {
      problem: 'context',
      message: `End the signed text with "${assumedSignatureContext}": the text that was signed ends differently`,
      candidates: signed(otherContexts(wire).map((context) => signedText + partnerId + context)),
    },
    {
      problem: 'order',
      message: `Sign timestamp, partner id and "${assumedSignatureContext}" in this order, with nothing between them`,
      candidates: signed(otherOrders(signedText, partnerId)),
    },
    {
      problem: 'encoding',
      message:
        'Send the 32 bytes of the signature as base64 with "+", "/" and "=": the bytes are right, but their encoding is not',
      candidates: ofKey((key) => otherEncodings(hmac(text, key))),
    },
    {
      problem: 'key_whitespace',
      message: 'Remove blanks, line ends and quotation marks around the key in the code that reads it',
      candidates: ofKey((key) => paddedKeys(key).map((padded) => base64(text, padded))),
    },
    {
      problem: 'key_decoded',
      message:
        'Use the key unchanged, as a string: this signature was made with a key that had been encoded or decoded (base64 or hex)',
      candidates: ofKey((key) => decodedKeys(key).map((bytes) => base64(text, bytes))),
    },
    {
      problem: 'body_signed',
      message: `Sign timestamp, partner id and "${assumedSignatureContext}" alone: this signature covers the body, too`,
      candidates: ofKey((key) => textsWithBody(request, text).map((message) => base64(message, key))),
    },
    {
      problem: 'algorithm',
      message:
        'Sign with HMAC-SHA256: this signature was made with another algorithm, such as HMAC-SHA1 or HMAC-SHA512',
      candidates: ofKey((key) =>
        ['sha1', 'sha512', 'sha384', 'sha224'].flatMap((name) => inBoth(createHmac(name, key).update(text).digest())),
      ),
    },
    {
      problem: 'swapped',
      message: 'Swap the arguments of the HMAC: the signed text was used as the key, and the key as the text',
      candidates: ofKey((key) => inBoth(hmac(key, text))),
    },
    {
      problem: 'unkeyed',
      message: 'Sign with HMAC-SHA256 and the key: this signature is a hash that anyone can compute without the key',
      candidates: () => unkeyedHashes(request, partnerId),
    },
  ];
}

function hmac(text: string, key: string | Buffer): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function base64(text: string, key: string | Buffer): string {
  return hmac(text, key).toString('base64');
}

function inBoth(digest: Buffer): readonly string[] {
  return [digest.toString('base64'), digest.toString('hex')];
}

function unkeyedHashes({ signature, timestamp: { signedText } }: WrongRequest, partnerId: string): readonly string[] {
  const texts = [`${Number(partnerId)}:${signedText}`, `${partnerId}:${signedText}`, textOf(signedText, partnerId)];
  const digests = ['sha256', 'sha1', 'sha512'].flatMap((name) =>
    texts.flatMap((text) => inBoth(createHash(name).update(text).digest())),
  );
  // An older scheme sends encrypted bytes, "|" and the digest.
  const [, trailing] = signature.split('|');
  return trailing !== undefined && digests.includes(trailing) ? [signature] : digests;
}

function textOf(timestamp: string, partnerId: string): string {
  return timestamp + partnerId + assumedSignatureContext;
}

/**
 * Some senders read their clock twice, so the signed time differs from the sent time. The mistake is found if the
 * difference is at most this many ms.
 */
const maxReadingGapMs = 250;

/**
 * Other strings that senders sign by mistake instead of the sent timestamp: other spellings of the same time, and times
 * close to it.
 */
function spellingsOf({ signedText, ms }: ParsedTimestamp): readonly string[] {
  const iso = new Date(ms).toISOString();
  const times = [iso.slice(0, 19), iso.slice(0, 23), `${iso.slice(0, 23)}000`];
  const spellings = times.flatMap((time) => ['', 'Z', '+00:00', '+0000'].map((offset) => time + offset));
  const local = iso.slice(0, 19).replace('T', ' ');
  const numbers = [String(ms), String(Math.floor(ms / 1_000)), String(ms / 1_000)];
  const texts = [new Date(ms).toUTCString(), String(new Date(ms)), JSON.stringify(signedText)];
  const near = Array.from({ length: 2 * maxReadingGapMs + 1 }, (_, index) => ms + index - maxReadingGapMs);
  const readings = near.flatMap((nearMs) => [new Date(nearMs).toISOString(), String(nearMs)]);
  return [...spellings, local, ...numbers, ...texts, ...readings];
}

function otherContexts({ brand }: Wire): readonly string[] {
  const words = ['sid', 'request', 'sid_response', 'sid_callback', 'sid-request', 'sidrequest', 'SID_REQUEST'];
  return ['', ...words, `${brand}_request`, ` ${assumedSignatureContext}`, `${assumedSignatureContext}\n`];
}

function otherOrders(timestamp: string, partnerId: string): readonly string[] {
  const parts = new Map(Object.entries({ t: timestamp, p: partnerId, c: assumedSignatureContext }));
  const orders = ['tpc', 'tcp', 'ptc', 'pct', 'ctp', 'cpt', 'pt'].map((order) =>
    [...order].map((part) => parts.get(part)),
  );
  return orders.flatMap((order) => ['', ':', '|', '.', ',', '\n', ' ', '&'].map((separator) => order.join(separator)));
}

function otherEncodings(digest: Buffer): readonly string[] {
  const base64 = digest.toString('base64');
  const hex = digest.toString('hex');
  const url = digest.toString('base64url');
  const hexed = Buffer.from(hex).toString('base64');
  const padded = `${url}=`;
  const wrapped = [`${base64}\n`, ` ${base64}`, `sha256=${base64}`, `sha256=${hex}`, encodeURIComponent(base64)];
  return [hex, hex.toUpperCase(), url, padded, base64.slice(0, -1), hexed, digest.toString('latin1'), ...wrapped];
}

function paddedKeys(key: string): readonly string[] {
  const ends = ['\n', '\r\n', '\r', ' ', '\t', '\n\n', '\0'];
  return [
    ...ends.flatMap((end) => [key + end, end + key]),
    ` ${key} `,
    `"${key}"`,
    `'${key}'`,
    `"${key}"\n`,
    key.trim(),
  ];
}

function decodedKeys(key: string): readonly Buffer[] {
  const inner = key.trim();
  const decoded = [Buffer.from(inner, 'base64'), Buffer.from(inner, 'hex')];
  // The sender may also have encoded the key before using it.
  const encoded = [Buffer.from(Buffer.from(key).toString('base64')), Buffer.from(Buffer.from(key).toString('hex'))];
  return [...decoded.filter(({ length }) => length > 0), ...encoded];
}

function textsWithBody({ body, property, timestamp }: WrongRequest, text: string): readonly string[] {
  const { [property]: _signature, ...unsigned } = body;
  const { timestamp: _timestamp, partner_id: _partner, ...bare } = unsigned;
  const bodies = [unsigned, bare].flatMap((each) => {
    const sorted = Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
    return [JSON.stringify(each), JSON.stringify(each, null, 2), JSON.stringify(sorted), pythonJson(each)];
  });
  const { signedText } = timestamp;
  return bodies.flatMap((each) => [
    each,
    text + each,
    each + text,
    signedText + each,
    `${signedText}.${each}`,
    each + signedText,
  ]);
}

/** Writes JSON like Python's `json.dumps`, with blanks after colons and commas. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, each]) => `${JSON.stringify(name)}: ${pythonJson(each)}`)
    .join(', ')}}`;
}
