// Reads the row of a job as a state of the model.

import type { SqlPool } from 'hosted-client/tracking';
import { versionOf } from '../../../../src/jobs/version.ts';
import { outcomes, states } from '../../../../src/tracking/rules.ts';
import { absent, links } from '../callers.ts';
import type { Settings } from '../settings.ts';
import type { Failure, Row, RowState, State } from '../state.ts';
import { createStatus } from './polls.ts';
import { earlier } from './signing.ts';

/** The schema of the tables. */
export const schema = 'replayed';
/** The job of the model. */
export const job = { userId: 'user', jobId: 'job' } as const;
/** The reference ids of the links of the model. */
export const refIds: Readonly<Record<number, string>> = { [links.own]: 'own', [links.other]: 'other' };

const stateNames = new Map(Object.entries(states).map(([name, code]) => [code, name as RowState]));
const linkOf = new Map(Object.entries(refIds).map(([link, refId]) => [refId, Number(link)]));

/** When callbacks and statuses were signed: the dates of polls show it. */
const unread = { signed: 0, mentioned: 0 } as const;

interface Columns {
  readonly state: number;
  readonly end_id: string | null;
  readonly lease_id: string | null;
  readonly is_over: boolean;
  readonly attempts: number;
  readonly outcome: number | null;
  readonly context: number | null;
  readonly link_ref_id: string | null;
  readonly is_proven: boolean;
  readonly is_mentioned: boolean;
  readonly has_date: boolean;
  readonly late_polls: number;
  readonly last_error: string | null;
  readonly revision: number;
  readonly version: string | null;
  readonly state_before: number | null;
}

/** Creates the functions for one trace. */
export function createReading(pool: SqlPool, key: string, settings: Settings) {
  /** The id of each end, and the lease of each delivery of the model. */
  const ends = new Map<number, string>();
  const leases = new Map<number, string>();
  const text = `select state, end_id, lease_id, coalesce(lease_id is not null and deliver_at <= now(), false) as is_over,
      attempts, revision, version, state_before, outcome, context, link_ref_id, is_proven, mentioned_at is not null as is_mentioned, due is not null as has_date,
      last_error, case when late_since between deadline and now() then late_polls else 0 end as late_polls
    from ${schema}.tracked where key = $1::uuid`;

  const nameOf = (names: ReadonlyMap<number, string>, id: string | null) =>
    id === null ? 0 : ([...names].find(([, known]) => known === id)?.[0] ?? Number.NaN);

  return {
    leases,
    /** Reads what is stored. An end that is new in the model gets its id here. */
    async read({ row: { end } }: State): Promise<Row> {
      const [row] = (await pool.query(text, [key])).rows as Columns[];
      if (!row) return absent;
      const versions = [2, 3, 4].map(
        async (result) => [result, await versionOf(createStatus(result, settings, earlier))] as const,
      );
      const { end_id: id, lease_id: lease } = row;
      if (end > 0 && id !== null && !ends.has(end) && Number.isNaN(nameOf(ends, id))) ends.set(end, id);
      const version = nameOf(new Map(await Promise.all(versions)), row.version);
      return readRow(row, { end: nameOf(ends, id), lease: nameOf(leases, lease), version });
    },
    /** The same part of a state of the model. */
    view: ({ row }: State): Row => ({ ...row, ...unread, isOver: row.lease !== 0 && row.isOver }),
  };
}

function readRow(row: Columns, names: Pick<Row, 'end' | 'lease' | 'version'>): Row {
  return {
    state: stateNames.get(row.state as never) ?? 'absent',
    ...names,
    isOver: row.is_over,
    attempts: row.attempts,
    revision: row.revision,
    stateBefore: row.state_before === null ? null : (stateNames.get(row.state_before as never) ?? 'absent'),
    ...unread,
    hasExpired: row.outcome === outcomes.expired,
    context: row.context ?? 0,
    link: linkOf.get(row.link_ref_id ?? '') ?? 0,
    isProven: row.is_proven,
    isMentioned: row.is_mentioned,
    hasDate: row.has_date,
    latePolls: Math.min(row.late_polls, 2),
    lastError: failureOf(row.last_error),
  };
}

function failureOf(code: string | null): Failure {
  if (code === null) return 'none';
  return code === 'not_found' ? 'own' : 'fleet';
}
