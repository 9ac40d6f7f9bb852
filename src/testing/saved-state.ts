/**
 * The state of the service in the form in which it is saved and restored.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/errors.js';
import { type OperationName, routes } from '../protocol/routes.js';
import { detachFromPrototype, isRecord } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { choice, flag } from '../validation/input.js';
import type { CallbackWriter, SignedResult, SignedResults } from './callbacks.js';
import type { ComingFault } from './faults.js';
import type { StoredState } from './store.js';
import type { MockFault } from './types.js';

const text = z.string('must be a string');
const number = z.number('must be a number');
/** A time in ms since the epoch, in the range of `Date`. */
const time = z.custom<number>(isTime, 'must be a time');
const maybeText = z.nullable(text);
const maybeTime = z.nullable(time);
const properties = z.custom<Readonly<Record<string, unknown>>>(isRecord, 'must be an object');

/** Whether a value is a time in ms since the epoch, in the range of `Date`. */
export function isTime(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}

const idType = inputObject({ country: text, id_type: text, verification_method: text });

const link = inputObject({
  refId: text,
  name: maybeText,
  idTypes: z.array(idType),
  isSingleUse: z.nullable(flag),
  callbackUrl: maybeText,
  companyName: text,
  dataPrivacyPolicyUrl: text,
  logoUrl: maybeText,
  userId: text,
  expiresAt: maybeText,
  createdAt: time,
  updatedAt: time,
  disabledAt: maybeTime,
});

const result = inputObject({
  at: time,
  code: text,
  text,
  type: maybeText,
  final: flag,
  /** The callback that was created for this result; null before a callback was created. */
  signed: z.nullable(inputObject({ signedAt: time, properties })),
});

const job = inputObject({
  userId: text,
  jobId: text,
  hostedJobId: text,
  linkRefId: maybeText,
  idType: z.nullable(idType),
  startedAt: time,
  results: z.array(result),
  /** The index of the final result, and whether the job succeeded; null until the job is complete. */
  outcome: z.nullable(inputObject({ entry: number, success: flag })),
});

const comingFault = inputObject({
  operation: choice(Object.keys(routes) as OperationName[], 'must be an operation'),
  fault: z.custom<MockFault>(isRecord, 'must be a fault'),
  left: number,
});

const environment = inputObject({
  links: z.array(link),
  jobs: z.array(job),
  faults: z.array(comingFault),
  lastSignedAt: maybeTime,
  requestCount: number,
  ids: number,
  spelling: number,
});

const service = inputObject({ version: choice([1], 'must be 1'), sandbox: environment, production: environment });

/** One environment, in the saved form. */
export type SavedEnvironment = z.output<typeof environment>;

/** The service, in the saved form. */
export type SavedService = z.output<typeof service>;

/**
 * Parses a state that `save` wrote.
 *
 * @throws {HostedValidationError} when the state does not have the form that `save` writes.
 */
export function parseService(state: unknown): SavedService {
  const task = 'restore the mock service' as const;
  const json = typeof state === 'string' ? parseSaved(state) : undefined;
  if (json === undefined)
    throw new HostedValidationError([{ path: 'state', message: 'must be JSON that save() wrote' }], { task });
  const checked = check(service, json);
  if (checked.data === undefined) throw new HostedValidationError(checked.issues, { task });
  return checked.data;
}

function parseSaved(state: string): unknown {
  try {
    const json: unknown = detachFromPrototype(JSON.parse(state));
    return isRecord(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** The parts of an environment that are saved. */
export interface EnvironmentParts {
  readonly store: StoredState;
  readonly callbacks: CallbackWriter;
  readonly faults: readonly ComingFault[];
  readonly ids: number;
  readonly spelling: number;
  readonly requestCount: number;
}

/** Writes an environment in the saved form. */
export function writeEnvironment({ store, callbacks, faults, ...counts }: EnvironmentParts): SavedEnvironment {
  return {
    ...counts,
    links: store.links.map((stored) => ({ ...stored, idTypes: [...stored.idTypes] })),
    jobs: store.jobs.map((stored) => ({
      ...stored,
      results: stored.results.map((entry) => ({ ...entry, signed: callbacks.signedResultOf(entry) })),
      outcome: stored.outcome && {
        entry: stored.results.indexOf(stored.outcome.result),
        success: stored.outcome.success,
      },
    })),
    faults: faults.map(({ id: _id, ...fault }) => fault),
    lastSignedAt: callbacks.lastSignedAt,
  };
}

/** The parts of an environment that are restored. */
export interface ReadEnvironment extends Omit<EnvironmentParts, 'callbacks' | 'faults'> {
  readonly faults: SavedEnvironment['faults'];
  readonly signed: SignedResults;
}

/** Reads an environment that {@link writeEnvironment} wrote. */
export function readEnvironment(saved: SavedEnvironment): ReadEnvironment {
  const signed: (readonly [StoredState['jobs'][number]['results'][number], SignedResult])[] = [];
  const jobs = saved.jobs.map(({ results: savedResults, outcome, ...stored }) => {
    const results = savedResults.map(({ signed: written, ...entry }) => {
      if (written !== null) signed.push([entry, written]);
      return entry;
    });
    const final = outcome && results[outcome.entry];
    return { ...stored, results, outcome: outcome && final ? { result: final, success: outcome.success } : null };
  });
  const { ids, spelling, requestCount, faults } = saved;
  return {
    store: { links: saved.links, jobs },
    signed: { results: signed, lastSignedAt: saved.lastSignedAt },
    faults,
    ids,
    spelling,
    requestCount,
  };
}
