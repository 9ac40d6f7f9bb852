/**
 * What is believed: the way from an answer that is no refusal to a clean value. Each step throws
 * what keeps it from the next; a value that comes out was verified wherever its operation's
 * answers are signed.
 *
 * @module
 */

import {
  type DisbeliefReason,
  HostedConfigError,
  HostedResponseError,
  HostedSignatureError,
  type UnusableReason,
} from '../errors/errors.js';
import type { Issue, Particulars } from '../errors/hosted-error.js';
import { cannot, disbelief, listIssues, unusability } from '../errors/messages.js';
import { isRecord } from '../protocol/json.js';
import type { Settings } from '../settings.js';
import { signaturesIn, type Verdict, verifyAnswer } from '../signing/verify.js';
import { checkJson } from '../validation/check.js';
import { describeSkew } from './clock-skew.js';
import { hasValue, type Operation } from './operation.js';
import type { SentSignatures } from './sent-signatures.js';
import { requestIdIn, type Site } from './service-error.js';
import type { Answer } from './transport.js';

/** An answer, and the call it is to be believed by. */
export interface Reading<Checked, Wire, Output> {
  readonly operation: Operation<Checked, Wire, Output>;
  readonly asked: Checked;
  /** The signatures of our own requests. */
  readonly sentSignatures: SentSignatures;
  readonly answer: Answer;
  readonly site: Site;
  readonly settings: Settings;
}

/** The members of an answer. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * The members of an answer that can be read.
 *
 * @throws {HostedResponseError} when it is a redirect, too large, no JSON, or no object.
 */
export function membersOf(reading: Received, json: unknown): Members {
  const { flaw } = reading.answer;
  if (flaw === 'redirect' || flaw === 'too_large') throw unusable(reading, flaw, []);
  if (flaw === 'not_utf8' || json === undefined) throw unusable(reading, 'malformed', []);
  if (!isRecord(json)) throw unusable(reading, 'shape', [{ path: '', message: 'must be an object' }]);
  return json;
}

/**
 * When the service signed an answer; null where its operation's answers need no signature and this
 * one has none. A promise only where the signer gives one.
 *
 * @throws {HostedSignatureError} when it is not believed.
 */
export function verified(reading: Signed, members: Members): Date | null | Promise<Date | null> {
  const { operation, sentSignatures, site, settings } = reading;
  const signatures = signaturesIn(members);
  const others = signatures.filter((signature) => !sentSignatures.has(signature));
  // Link answers are not signed; one that hands our own signature back is not either.
  if (operation.signedAnswer === 'if present' && others.length === 0) return null;
  if (mayReflect(reading) && others.length < signatures.length) throw rejected(reading, 'reflected');
  const theirs =
    operation.signedAnswer === 'required'
      ? members
      : Object.fromEntries(Object.entries(members).filter(([, value]) => !sentSignatures.has(value)));
  const verdict = verifyAnswer(theirs, {
    signer: settings.signer,
    partnerId: settings.partnerId,
    now: site.now,
    maxAgeMs: settings.maxResponseAgeMs,
  });
  return verdict instanceof Promise
    ? verdict.then((later) => signedAtOf(reading, later, others))
    : signedAtOf(reading, verdict, others);
}

// Where both sides sign with one key, anyone can hand us back what we sent, now or earlier.
function mayReflect({ operation, settings }: Signed): boolean {
  return operation.signedAnswer === 'required' && !settings.wire.echoesTimestamp;
}

function signedAtOf(reading: Signed, verdict: Verdict | null, signatures: readonly unknown[]): Date | null {
  const { sentSignatures, site } = reading;
  if (verdict?.believed) {
    const { signedAt } = verdict;
    if (mayReflect(reading) && signatures.some((signature) => sentSignatures.hasRespelled(signature))) {
      throw rejected(reading, 'reflected');
    }
    const isForgotten = signedAt !== null && signedAt.getTime() <= sentSignatures.forgottenUntil();
    if (mayReflect(reading) && isForgotten) throw rejected(reading, 'stale');
    return signedAt;
  }

  if (verdict) throw rejected(reading, verdict.reason);
  const issues = [{ path: 'signer', message: 'must verify without throwing, and threw' }];
  throw new HostedConfigError(cannot(site.operation, listIssues(issues)), issues, answered(reading));
}

function rejected(reading: Received, reason: DisbeliefReason): HostedSignatureError {
  const { answer, site } = reading;
  const apart = reason === 'stale' ? describeSkew(answer.headers, site.now) : null;
  const why = apart ? `${apart}: set it (NTP), or raise "maxResponseAgeMs"` : disbelief[reason];
  const message = cannot(site.operation, `the answer is not believed: ${why}`);
  return new HostedSignatureError(message, reason, answered(reading));
}

/**
 * The clean value of an answer.
 *
 * @throws {HostedResponseError} when its shape is wrong, or it is about something else.
 */
export function decoded<Checked, Wire, Output>(
  reading: Reading<Checked, Wire, Output>,
  { members, signedAt }: { members: Members; signedAt: Date | null },
): Output {
  const { operation, asked, settings } = reading;
  const shape = checkJson(operation.response, members);
  if (shape.data === undefined) throw unusable(reading, 'shape', shape.issues);
  const read = operation.decode(shape.data, asked, { wire: settings.wire, signedAt });
  if (hasValue(read)) return read.value;
  throw unusable(reading, read.reason, read.issues);
}

type Received = Pick<Reading<never, never, unknown>, 'answer' | 'site'>;

type Signed = Pick<Reading<never, never, unknown>, 'answer' | 'site' | 'sentSignatures' | 'settings'> & {
  readonly operation: { readonly signedAnswer: 'required' | 'if present' };
};

function unusable(received: Received, reason: UnusableReason, issues: readonly Issue[]): HostedResponseError {
  const where = issues.length > 0 ? ` (${listIssues(issues)})` : '';
  const message = cannot(received.site.operation, `the answer cannot be used: ${unusability[reason]}${where}`);
  return new HostedResponseError(message, reason, issues, received.answer, answered(received));
}

function answered({ answer, site }: Received): Particulars {
  return {
    operation: site.operation,
    outcome: 'answered',
    attempts: site.attempts,
    requestId: requestIdIn(answer.headers, site.sentSignatures),
  };
}
