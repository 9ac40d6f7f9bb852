/**
 * Follows jobs: takes the jobs that are due, polls them, and hands over the jobs that have ended. One SQL statement
 * claims a job and sets the date of its next poll. So a job that is still pending needs no second statement.
 *
 * @module
 */

import { isHostedError } from '../../errors/client-errors.js';
import type { JobStatus } from '../../jobs/types.js';
import { linkIdOf } from '../../jobs/version.js';
import { maxTimerMs } from '../../runtime/clock.js';
import { completeMessage, trace } from '../../runtime/tracing-channel.js';
import { createBatches, listOf } from '../batches.js';
import { isSet, numberOf, textOf } from '../columns.js';
import type { Context } from '../context.js';
import { isRefId } from '../input.js';
import type { BatchMessage, Poll } from '../instruments.js';
import { createPause, type Loop } from '../pause.js';
import { readTaken, type TakenRow } from '../rows.js';
import { burstSeconds, outcomes, states } from '../rules.js';
import { assertFits } from '../schema/versions.js';
import type { Row } from '../sql.js';
import { HostedStorageError } from '../storage-error.js';
import type { Health } from './health.js';
import { type Found, isProof, pollOnce } from './poll.js';

/**
 * How often, in ms, an idle process checks for due jobs. The check is needed, because other processes can track jobs
 * too.
 */
const idleMs = 500;
/** The longest time, in ms, that the loop waits for running requests before it takes the next jobs. */
const gatherMs = 50;
/** How long, in ms, the loop waits after a failure of the database. */
const outageMs = 1_000;

/** What does not happen if the result of a poll cannot be stored. */
const pollEffect = 'no result of a poll is stored';

/** What the loop uses. */
interface Following {
  /** Is called when completions can be delivered. */
  readonly ended: () => void;
  /** Is called when all dates are further ahead than any wait, because the clock of the database has gone back. */
  readonly isImpossible: () => void;
  readonly health: Health;
  /** Aborts the running requests. */
  readonly signal: AbortSignal;
}

/** Starts the loop. */
export function createFollower(context: Context, { ended, isImpossible, health, signal }: Following): Loop {
  const { settings, database, statements, report, storage, clock, random, keyOf } = context;
  const { concurrency } = settings;
  const pause = createPause(clock);
  const freed = createPause(clock);
  // A storage of this process alone wakes the loop when work becomes due.
  const [checkMs, holdMs] = database.watch ? [maxTimerMs, maxTimerMs] : [idleMs, outageMs];
  let isStopping = false;
  let inFlight = 0;
  let waitFactor = 1;

  const writeRows = (text: string, rows: readonly { readonly key: string }[]) => database.run(text, listOf(rows));
  const notes = createBatches((all: readonly Note[]) => writeRows(statements.note, mergeNotes(all)));
  const keptEnds = createBatches((all: readonly KeptEnd[]) => writeRows(statements.keepEnd, all));
  const createKeyBatches = (text: string) =>
    createBatches((keys: readonly string[]) => database.run(text, [JSON.stringify(keys)]));
  const unknown = createKeyBatches(statements.giveUp);
  const brokenOff = createKeyBatches(statements.giveBack);
  const linkEnds = createKeyBatches(statements.endLinks);
  const createEndBatches = <End extends { readonly key: string }>(text: string) =>
    createBatches(async (all: readonly End[]) => {
      const rows = await writeRows(text, all);
      ended();
      for (const row of rows) {
        report({ type: 'ended', outcome: numberOf(row, 'outcome') === outcomes.completed ? 'completed' : 'expired' });
      }
    });
  const ends = createEndBatches<JobEnd>(statements.end);
  const furtherEnds = createEndBatches<FurtherEnd>(statements.endAgain);

  const loop = run();
  return {
    wake: pause.wake,
    isIdle: () => inFlight === 0 && pause.isSleeping(),
    async drain() {
      isStopping = true;
      pause.wake();
      freed.wake();
      await loop;
      while (inFlight > 0) await freed.sleep(60_000);
    },
  };

  async function run(): Promise<void> {
    while (!isStopping) {
      if (inFlight >= concurrency) {
        await freed.sleep(60_000);
        continue;
      }
      const taking = storage.watch('no job is polled', () => take(concurrency - inFlight));
      const waitMs = await taking.catch(() => outageMs);
      if (waitMs > 0 && !isStopping) await pause.sleep(waitMs);
    }
  }

  /** Takes up to `most` jobs. Resolves with the time, in ms, until the loop should take more jobs. */
  async function take(most: number): Promise<number> {
    const ownMs = health.aloneMs();
    if (ownMs > 0) return Math.min(ownMs + 5, holdMs);
    const [fleet] = await database.run(statements.claim, [most, health.isWell()]);
    assertFits(fleet);
    const rows = JSON.parse(textOf(fleet, 'taken') ?? '[]') as readonly Row[];
    health.learn(textOf(fleet, 'problem_code'), numberOf(fleet, 'asked_ms'));
    if (isSet(fleet, 'is_impossible')) isImpossible();
    if (rows.length > 0) {
      const batch = { jobs: rows.length, lateMs: Math.max(0, Math.round(-numberOf(fleet, 'first_ms'))) };
      report({ type: 'batch', ...batch });
      void trace(
        'batch',
        (): BatchMessage => ({ ...batch, polls: [], errorCode: null }),
        async (message) => {
          const polls = await pollAll(rows.map(readTaken));
          const failed = polls.find(({ result }) => result === 'failed');
          if (message) completeMessage(message, { polls, errorCode: failed?.errorCode ?? null });
        },
      );
    }
    if (rows.length === most) {
      // A few large batches cost less than many small batches, because each batch writes the row of the table `fleet`.
      const endsAt = clock.elapsed() + gatherMs;
      while (!isStopping && inFlight > concurrency / 5 && clock.elapsed() < endsAt) await freed.sleep(gatherMs);
      return 0;
    }
    const heldMs = numberOf(fleet, 'hold_ms');
    if (heldMs > 0) return Math.min(heldMs + 5, holdMs);
    const nextMs = fleet.next_ms === null ? checkMs : numberOf(fleet, 'next_ms');
    if (fleet.tokens === null || nextMs > 0) {
      waitFactor = 1;
      return Math.min(Math.max(nextMs, 5), checkMs);
    }
    return waitForTokens(most, rows.length, fleet);
  }

  /** Calculates how long, in ms, to wait until the token bucket has enough tokens for a batch of a reasonable size. */
  function waitForTokens(most: number, taken: number, fleet: Row): number {
    const rate = numberOf(fleet, 'rate');
    const burst = Math.max(1, rate * burstSeconds);
    const wanted = Math.min(most, Math.max(1, burst * 0.6));
    // If other processes took most of the tokens, this process waits longer the next time.
    waitFactor = taken < wanted / 2 ? Math.min(waitFactor * 1.3, 3) : Math.max(1, waitFactor / 1.3);
    // A bucket that is full loses tokens.
    const toMs = (tokens: number) => ((tokens + taken - numberOf(fleet, 'tokens')) / rate) * 1_000;
    const ms = Math.min(toMs(wanted) * waitFactor, toMs(burst));
    return Math.min(Math.max(ms, 5), idleMs) * (0.9 + random() * 0.2);
  }

  // Returns a row for each link. The rows are read with one statement, before the links are polled.
  async function countJobs(links: readonly TakenRow[]): Promise<readonly Row[]> {
    return links.length === 0 ? [] : database.run(statements.countJobs, [JSON.stringify(links.map(({ key }) => key))]);
  }

  function pollAll(taken: readonly TakenRow[]): Promise<readonly Poll[]> {
    const counts = countJobs(taken.filter(({ isLink }) => isLink));
    inFlight += taken.length;
    return Promise.all(
      taken.map(async (row) => {
        const poll = await pollRow(row, counts);
        inFlight -= 1;
        freed.wake();
        return poll;
      }),
    );
  }

  // If a step fails here, the job is polled again later, because the statement `claim` has already set the date of its
  // next poll.
  async function pollRow(row: TakenRow, counts: Promise<readonly Row[]>): Promise<Poll> {
    try {
      const counted = row.isLink ? (await counts).find(({ key }) => String(key) === row.key) : undefined;
      // Callbacks mention jobs that are not followed yet if they arrive while `trackLink()` runs.
      if (counted && isSet(counted, 'has_mentioned')) await database.run(statements.adopt, [row.key]);
      const known = counted ? numberOf(counted, 'known') : 0;
      const found = await pollOnce(row, known, context, { health, signal });
      if (found.is === 'ended') await end(row, found);
      else if (found.is === 'linkEnded') await linkEnds.add(row.key);
      else if (found.is === 'unknown') await unknown.add(row.key);
      else if (found.is === 'missing') await reportMissing(row, found);
      else if (found.is === 'noted') await note(row, found);
      else if (found.is === 'endedAgain') await furtherEnds.add({ key: row.key, revision: row.revision });
      else if (found.is === 'kept') await keptEnds.add(toKept(row, found));
      if (found.is !== 'nothing') storage.worked(pollEffect);
      return readPoll(row, found);
    } catch (error) {
      if (error instanceof HostedStorageError) storage.failed(pollEffect, error);
      else if (signal.aborted) await brokenOff.add(row.key).catch(() => undefined);
      return { result: 'failed', errorCode: isHostedError(error) ? error.code : null };
    }
  }

  async function end(row: TakenRow, found: Found & { readonly is: 'ended' }): Promise<void> {
    const link = await findLink(row, found.status);
    if (link.isFollowed) await ends.add(toEnd(row, found, link.refId));
  }

  async function note(row: TakenRow, found: Found & { readonly is: 'noted' }): Promise<void> {
    const { status } = found;
    const link = await findLink(row, status !== null && isProof(status) ? status : null);
    if (link.isFollowed) await notes.add(toNote(row, found, link.refId));
  }

  /**
   * Finds the proven link of a job. The body of a callback is not signed. So a callback can name the link of another
   * person, and that link has another context. If a verified status names another link, the job gets this one. While no
   * verified status has named a link, `refId` is null. What is stored next counts only for the link found here, because
   * a further callback may name the wrong link again. `isFollowed` is false if the tracker does not follow jobs of this
   * link.
   */
  async function findLink(row: TakenRow, status: JobStatus | null) {
    if (row.isLinkProven) return { refId: row.linkRefId, isFollowed: true };
    const linkId = status === null ? null : linkIdOf(status);
    if (linkId === null || linkId === row.linkRefId) return { refId: linkId, isFollowed: true };
    const refId = isRefId(linkId) ? linkId : null;
    const linkKey = refId === null ? null : await keyOf(['link', refId]);
    const [changed] = await database.run(statements.relink, [row.key, refId, linkKey]);
    return { refId, isFollowed: changed === undefined || numberOf(changed, 'state') !== states.heard };
  }

  async function reportMissing(row: TakenRow, found: Found & { readonly is: 'missing' }): Promise<void> {
    const { missing, mentioned } = found;
    const refId = row.linkRefId ?? '';
    const key = await keyOf(['unheard', refId, String(missing)]);
    const added = await database.run(statements.addGap, [key, row.key, missing, mentioned]);
    ended();
    if (added.length > 0) report({ type: 'ended', outcome: 'unheard' });
    if (row.isLate) await linkEnds.add(row.key);
  }
}

/** A poll changes nothing if it has the same error as the poll before, or like that one no error. */
function readPoll({ lastError }: TakenRow, found: Found): Poll {
  const ends = found.is === 'ended' || found.is === 'endedAgain' || found.is === 'linkEnded';
  const noted = found.is === 'noted' ? found.changes.last_error : found.is === 'nothing' ? lastError : null;
  const errorCode = 'error' in found ? found.error : found.is === 'unknown' ? 'not_found' : noted;
  return { result: ends ? 'ended' : errorCode === null ? 'pending' : 'failed', errorCode };
}

/** A row of the statement `end`. */
export type JobEnd = Readonly<ReturnType<typeof toEnd>>;

/** `link_ref_id` is the job's link at the time of the last poll. Null if there is none, or if it is not proven. */
function toEnd({ key }: TakenRow, { outcome, error }: Found & { readonly is: 'ended' }, link_ref_id: string | null) {
  return { key, link_ref_id, outcome: outcomes[outcome], last_error: error };
}

/** A row of the statement `endAgain`: the job, and the revision of the end that was handed over before. */
export type FurtherEnd = Pick<TakenRow, 'key' | 'revision'>;

/** A row of the statement `keepEnd`. */
export type KeptEnd = Readonly<ReturnType<typeof toKept>>;

function toKept({ key, revision }: TakenRow, { isSame, signedMs }: Found & { readonly is: 'kept' }) {
  return { key, revision, is_same: isSame, signed_ms: signedMs };
}

/** A row of the statement `note`. */
export type Note = Readonly<ReturnType<typeof toNote>>;

function toNote({ key }: TakenRow, { status, changes }: Found & { readonly is: 'noted' }, link_ref_id: string | null) {
  const is_proven = status !== null && isProof(status);
  return { key, ...changes, has_status: status !== null, is_proven, link_ref_id };
}

/** Merges the notes of polls of the same job, because one statement changes a row only once. */
function mergeNotes(notes: readonly Note[]): readonly Note[] {
  const merged = new Map<string, Note>();
  for (const note of notes) {
    const before = merged.get(note.key);
    const kept = before?.is_proven === true && !note.is_proven ? before : note;
    merged.set(note.key, { ...kept, first_answers: (before?.first_answers ?? 0) + note.first_answers });
  }
  return [...merged.values()];
}
