// Reads the row and the messages of a job as a state of the model.

import type { SqlPool } from 'hosted-client/tracking';
import { outcomes, states } from '../../../../src/tracking/rules.ts';
import { absent, links } from '../callers.ts';
import type { Failure, Message, Row, RowState, State } from '../state.ts';

/** The schema of the tables. */
export const schema = 'replayed';
/** The job of the model. */
export const job = { userId: 'user', jobId: 'job' } as const;
/** Another job, for the requests that show whether the service is well. */
export const otherJob = { userId: 'user', jobId: 'other' } as const;
/** The reference ids of the links of the model. */
export const refIds: Readonly<Record<number, string>> = { [links.own]: 'own', [links.other]: 'other' };

/** The part of a state that is in the database. */
interface Stored {
  readonly row: Row;
  readonly messages: readonly Omit<Message, 'of'>[];
}

const stateNames = new Map(Object.entries(states).map(([name, code]) => [code, name as RowState]));
const linkOf = new Map(Object.entries(refIds).map(([link, refId]) => [refId, Number(link)]));

interface Columns {
  readonly state: number;
  readonly end_id: string | null;
  readonly attempts: number;
  readonly outcome: number | null;
  readonly context: number | null;
  readonly link_ref_id: string | null;
  readonly is_proven: boolean;
  readonly is_told: boolean;
  readonly has_date: boolean;
  readonly late_looks: number;
  readonly last_error: string | null;
}

/** Creates the functions for one trace. */
export function createReading(pool: SqlPool, key: string) {
  /** The id of each end of the model. */
  const ends = new Map<number, string>();
  const text = `select (select row_to_json(r) from (
      select state, end_id, attempts, outcome, context, link_ref_id, is_proven, told_at is not null as is_told,
        due is not null as has_date, last_error,
        case when late_since between deadline and now() then late_looks else 0 end as late_looks
      from ${schema}.tracked where key = $1::uuid) r) as row,
    (select coalesce(json_agg(m), '[]') from (
      select id, state = 'active' as is_active,
        case when started_on is null then 0 else retry_count + 1 end as fetches
      from ${schema}_boss.job where state < 'completed') m) as messages`;

  function endOf(id: string | null): number {
    if (id === null) return 0;
    return [...ends].find(([, known]) => known === id)?.[0] ?? Number.NaN;
  }

  return {
    ends,
    /** Reads what is stored. An end that is new in the model gets its id here. */
    async read({ row: { end } }: State): Promise<Stored> {
      const [found] = (await pool.query(text, [key])).rows as {
        row: Columns | null;
        messages: { id: string; is_active: boolean; fetches: number }[];
      }[];
      const row = found?.row ?? null;
      const id = row?.end_id ?? null;
      if (end > 0 && id !== null && !ends.has(end) && Number.isNaN(endOf(id))) ends.set(end, id);
      return {
        row: row === null ? absent : readRow(row, endOf(row.end_id)),
        messages: (found?.messages ?? [])
          .map((message) => ({ end: endOf(message.id), isActive: message.is_active, fetches: message.fetches }))
          .sort((a, b) => a.end - b.end),
      };
    },
    /** The same part of a state of the model. */
    view: ({ row, messages }: State): Stored => ({
      row,
      messages: messages
        .map(({ end, isActive, fetches }) => ({ end, isActive, fetches }))
        .sort((a, b) => a.end - b.end),
    }),
  };
}

function readRow(row: Columns, end: number): Row {
  return {
    state: stateNames.get(row.state as never) ?? 'absent',
    end,
    attempts: row.attempts,
    hasExpired: row.outcome === outcomes.expired,
    context: row.context ?? 0,
    link: linkOf.get(row.link_ref_id ?? '') ?? 0,
    isProven: row.is_proven,
    isTold: row.is_told,
    hasDate: row.has_date,
    lateLooks: Math.min(row.late_looks, 2),
    lastError: failureOf(row.last_error),
  };
}

function failureOf(code: string | null): Failure {
  if (code === null) return 'none';
  return code === 'not_found' ? 'own' : 'fleet';
}
