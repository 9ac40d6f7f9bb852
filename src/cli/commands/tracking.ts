/**
 * `tracking stats|dead-letters|retry|migrate`: counts tracked jobs, lists dead letters, lets the running processes hand
 * over dead letters again, and creates or changes the tables. Only `migrate` changes tables, and no command follows a job
 * or calls a handler.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HostedConfigError } from '../../index.js';
import type { HostedStorageError, MigrationPlan, Tracker, TrackerStats } from '../../tracking/index.js';
import { findPastedProblemOfPlain } from '../../validation/pasted.js';
import { type Arguments, type Flags, integerFlag, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { type Context, createClient, exitCodes } from '../context.js';
import { RefusedError, UnreachableError } from '../failures.js';
import { writeFacts, writeJsonLine, writeLine, writeTable } from '../output.js';

const defaultSchema = 'hosted_tracking';

const schemaFlag: Flags = {
  schema: { value: 'NAME', about: `the schema of the tracking tables; default ${defaultSchema}` },
};

const placeFlags: Flags = {
  ...schemaFlag,
  folder: {
    value: 'DIR',
    about: 'the folder to use in place of the database in DATABASE_URL; no other process may have the folder open',
  },
};

const stats: Command = {
  name: 'tracking stats',
  about: 'count the tracked jobs of all processes; this reads the whole table',
  positionals: [],
  flags: placeFlags,
  async run(given, context) {
    const counts = await withTracker(given, context, (tracker) => tracker.stats());
    if (given.isSet('json')) writeJsonLine(context, counts);
    else writeFacts(context, factsOf(counts));
  },
};

function factsOf(counts: TrackerStats): Readonly<Record<string, unknown>> {
  const { problem, overdue, oldestOverdueMs, failing, oldestFailingMs } = counts;
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
  return {
    Heard: counts.heard,
    Tracking: counts.tracking,
    Links: counts.links,
    Overdue: overdue === 0 ? 0 : `${overdue}, and the oldest has been overdue for ${seconds(oldestOverdueMs)}`,
    'Handing over': counts.handingOver,
    Failing: failing === 0 ? 0 : `${failing}, and the oldest ended ${seconds(oldestFailingMs)} ago`,
    'Dead letters': counts.dead,
    'Requests sent': counts.requestsSent,
    'Last poll': counts.lastPollAt,
    'Paused until': counts.pausedUntil,
    Problem: problem && `${problem.code}, since ${problem.since.toISOString()}`,
  };
}

const defaultLimit = 100;

const deadLetters: Command = {
  name: 'tracking dead-letters',
  about: 'list dead letters: completions that no handler could handle, oldest first',
  positionals: [],
  flags: {
    ...placeFlags,
    limit: integerFlag(`the largest number of dead letters; default ${defaultLimit}`, { min: 1, max: 10_000 }),
    after: { value: 'KEY', about: 'begin the list after this key; default: begin with the oldest dead letter' },
  },
  async run(given, context) {
    const after = given.text('after');
    const options = { limit: given.number('limit') ?? defaultLimit, ...(after !== undefined && { after }) };
    const letters = await withTracker(given, context, (tracker) => tracker.deadLetters(options));
    if (given.isSet('json')) writeJsonLine(context, letters);
    else if (letters.length > 0) {
      const rows = letters.map(({ key, job, attempts, failedAt, error: { name, code } }) => {
        return [key, job?.userId, job?.jobId, attempts, failedAt, code === null ? name : `${name} (${code})`];
      });
      writeTable(context, ['KEY', 'USER_ID', 'JOB_ID', 'ATTEMPTS', 'FAILED', 'ERROR'], rows);
    }
    if (letters.length === 0) writeLine(context.stderr, 'There are no dead letters');
  },
};

const retry: Command = {
  name: 'tracking retry',
  about: 'let the running processes hand over a dead letter to your handler again; with --all, every dead letter',
  positionals: ['[KEY]'],
  flags: { ...placeFlags, all: { about: 'hand over every dead letter to your handler again' } },
  async run(given, context) {
    const [key] = given.positionals;
    const isAll = given.isSet('all');
    if (key === undefined && !isAll)
      throw new UsageError(
        'KEY is missing: write "hosted-client tracking retry KEY" or "hosted-client tracking retry --all"',
      );
    if (key !== undefined && isAll) throw new UsageError('KEY and --all are given: give one of them');
    const keys = key === undefined ? 'all' : [key];
    const count = await withTracker(given, context, (tracker) => tracker.retry(keys));
    if (count === 0 && key !== undefined) throw new RefusedError('No dead letter has this key');
    if (given.isSet('json')) writeJsonLine(context, count);
    else writeLine(context.stdout, `Handed over again: ${count}`);
  },
};

const migrate: Command = {
  name: 'tracking migrate',
  about: 'create the tracking tables, or change them to the installed version',
  positionals: [],
  flags: {
    ...schemaFlag,
    check: { about: 'change nothing; the exit code is 1 if there is something to do' },
    sql: { about: 'change nothing; print the SQL that would run' },
  },
  async run(given, context) {
    const { connectionString } = findDatabase(context, 'DATABASE_URL must be set');
    const schema = given.text('schema') ?? defaultSchema;
    const isPlan = given.isSet('check') || given.isSet('sql');
    const { HostedStorageError, migrateTracking } = await import('../../tracking/index.js');
    try {
      const plan = await migrateTracking({ connectionString, schema, apply: !isPlan });
      const isDone = plan.sql.length === 0;
      if (given.isSet('json')) writeJsonLine(context, plan);
      else if (given.isSet('sql')) for (const script of plan.sql) context.stdout.write(script.replace(/;?$/, ';\n\n'));
      else writeFacts(context, migrationFacts(plan, isPlan));
      return isDone || !given.isSet('check') ? undefined : exitCodes.refused;
    } catch (error) {
      if (error instanceof HostedConfigError) throw toUsage(error);
      if (!(error instanceof HostedStorageError)) throw error;
      throw error.reason === 'unreachable' ? new UnreachableError(error.message) : new RefusedError(error.message);
    }
  },
};

function migrationFacts({ from, to, sql }: MigrationPlan, isPlan: boolean): Readonly<Record<string, unknown>> {
  const show = (before: number | null, after: number) =>
    before === after ? `version ${after}` : `${before === null ? 'none' : `version ${before}`} → version ${after}`;
  const left = isPlan ? 'there is something to do' : 'done';
  return {
    'Tracking tables': show(from, to),
    Migration: sql.length === 0 ? 'nothing to do' : left,
  };
}

/** Opens the existing tables, does the work, and closes the tables. */
async function withTracker<T>(given: Arguments, context: Context, work: (tracker: Tracker) => Promise<T>): Promise<T> {
  const place = findPlace(given, context);
  const client = createClient(context);
  const { createTracker, HostedStorageError } = await import('../../tracking/index.js');
  const schema = given.text('schema') ?? defaultSchema;
  if ('folder' in place) writeLine(context.stderr, 'PGlite opens the folder, which takes a few seconds …');
  try {
    const tracker = await createTracker({ client, ...place, schema, migrate: false });
    try {
      return await work(tracker);
    } finally {
      await tracker.stop();
    }
  } catch (error) {
    if (error instanceof HostedStorageError) throw toFailure(error);
    throw error instanceof HostedConfigError ? toUsage(error) : error;
  }
}

// The URL may contain a password, so it is read only from the environment, and no part of it is ever printed.
function findPlace(given: Arguments, context: Context): { connectionString: string } | { folder: string } {
  const folder = given.text('folder');
  if (folder !== undefined) {
    // Without this check, PGlite would create the folder.
    if (!existsSync(join(folder, 'PG_VERSION')))
      throw new UsageError('--folder must be a folder that a tracker has created');
    return { folder };
  }
  return findDatabase(context, 'DATABASE_URL must be set, or give --folder');
}

function findDatabase({ env }: Context, missing: string): { readonly connectionString: string } {
  const connectionString = env.DATABASE_URL;
  if (!connectionString) throw new UsageError(missing);
  const isRight = /^postgres(?:ql)?:$/.test(URL.parse(connectionString)?.protocol ?? '');
  const mustBe = isRight ? null : 'must be a URL: postgresql://USER:PASSWORD@HOST:PORT/DATABASE';
  const problem = findPastedProblemOfPlain(connectionString) ?? mustBe;
  if (problem !== null) throw new UsageError(`DATABASE_URL ${problem}`);
  return { connectionString };
}

function toFailure({ reason, message }: HostedStorageError): Error {
  if (reason === 'unreachable') return new UnreachableError(message);
  if (reason !== 'not_migrated') return new RefusedError(message);
  return new RefusedError(
    'The schema has no tracking tables, or its tables are of an older version: check --schema, or run "hosted-client tracking migrate"',
  );
}

/** Creates an error that lists the same problems, but names flags in place of options. */
function toUsage({ issues }: HostedConfigError): UsageError {
  return new UsageError(issues.map(({ path, message }) => `--${path} ${message}`).join('; '));
}

export const trackingCommands: readonly Command[] = [stats, deadLetters, retry, migrate];
