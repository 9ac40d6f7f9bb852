/**
 * What is sent: input checked before anything leaves, then a body, an address and a signature of
 * its own for every attempt.
 *
 * @module
 */

import { HostedConfigError, HostedValidationError } from '../errors/errors.js';
import { HostedError, type Issue, type Particulars } from '../errors/hosted-error.js';
import { cannot, listIssues } from '../errors/messages.js';
import type { CallOptions } from '../options.js';
import type { Wire } from '../protocol/assumptions.js';
import { isRecord } from '../protocol/json.js';
import type { Route } from '../protocol/routes.js';
import { readProperty, writeJson } from '../runtime/prototype.js';
import type { Settings } from '../settings.js';
import { writeTimestamp } from '../signing/message.js';
import { check } from '../validation/check.js';
import { callOptions, inputObject } from '../validation/input.js';
import type { Encoded, Operation } from './operation.js';

const checkedOptions = inputObject(callOptions);
const noOptions = check(checkedOptions, {});

/**
 * Checks input and options of a call, and copies them: what the caller changes later is not sent.
 *
 * @throws {HostedValidationError} with every problem of both.
 */
export function checkInput<Checked>(
  operation: Route & Pick<Operation<Checked, never, never>, 'request'>,
  { input, options, wire }: { input: () => unknown; options: unknown; wire: Wire },
): { readonly asked: Checked; readonly options: CallOptions } {
  let given: unknown = null;
  try {
    given = input();
  } catch {
    // A getter or a proxy of the caller's threw: no object to read from.
  }
  const checked = check(operation.request, given);
  const checkedCall = options === undefined ? noOptions : check(checkedOptions, options);
  const issues = [...checked.issues, ...markerIssues(operation, given, wire), ...checkedCall.issues];
  if (checked.data !== undefined && checkedCall.data !== undefined && issues.length === 0) {
    return { asked: checked.data, options: checkedCall.data as CallOptions };
  }
  throw invalid(operation, issues);
}

function invalid({ name }: Route, issues: readonly Issue[]): HostedValidationError {
  return new HostedValidationError(cannot(name, listIssues(issues)), issues, { operation: name });
}

type Hosted = Route & { readonly host: 'links' | 'jobs' };

/** The address of an operation. */
export function addressOf({ path, host }: Hosted, encoded: Encoded, { baseUrls, wire }: Settings): string {
  const filled = path
    .replace('{brand}', wire.brand)
    .replace('{list}', wire.listMarker)
    .replace('{linkId}', encoded.linkId ?? '');
  return baseUrls[host] + filled;
}

/** A body that is signed, and the signature in it. */
export interface SignedBody {
  readonly text: string;
  readonly signature: string;
}

/**
 * Signs a body for one point in time. The text that is signed is the text that is sent.
 *
 * @throws {HostedConfigError} when the signer fails, or signs with anything but a text.
 */
export async function signBody(
  operation: Hosted,
  { encoded, instant, notSent }: { encoded: Encoded; instant: number; notSent: Particulars },
  { partnerId, signer, wire }: Settings,
): Promise<SignedBody> {
  const timestamp = writeTimestamp(instant, operation.host, wire);
  const signature = await sign(() => signer.sign({ partnerId, timestamp: timestamp.signed }));
  if (signature === null) {
    const issues = [{ path: 'signer', message: 'must sign with a text, and failed to' }];
    throw new HostedConfigError(cannot(operation.name, listIssues(issues)), issues, { ...notSent, retryable: false });
  }
  const member = operation.host === 'links' ? 'signature' : wire.jobSignatureMember;
  const body = { ...encoded.body, partner_id: partnerId, timestamp: timestamp.sent, [member]: signature };
  return { text: writeJson(body), signature };
}

// What somebody's signer throws may hold a key: it is neither shown nor passed on.
async function sign(run: () => string | Promise<string>): Promise<string | null> {
  try {
    const signature: unknown = await run();
    return typeof signature === 'string' && signature !== '' ? signature : null;
  } catch (error) {
    if (error instanceof HostedError) throw error;
    return null;
  }
}

// §4.3 and §4.4 share the shape of their paths: to get the marker would be to list everything.
function markerIssues({ path }: Route, input: unknown, { listMarker }: Wire): readonly Issue[] {
  const refId = path.includes('{linkId}') && isRecord(input) ? readProperty(input, 'refId') : undefined;
  if (refId !== listMarker) return [];
  return [{ path: 'refId', message: 'must not be the marker of the list operation' }];
}
