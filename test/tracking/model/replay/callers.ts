// How a replay takes the steps of callers, of time and of faults.

import { createHousekeeping } from '../../../../src/tracking/housekeeping.ts';
import { links } from '../callers.ts';
import { sign } from './signing.ts';
import type { Stage, Takers } from './steps.ts';
import { job, refIds, schema } from './stored.ts';

/** A context that no call of the model has. */
const strange = 9;

export function createCallerTakers(stage: Stage): Takers {
  const { context, tracker, settings, pool, key, linkKey } = stage;
  const { database, statements } = context;
  const update = (columns: string) => pool.query(`update ${schema}.tracked set ${columns} where key = '${key}'`);
  const trackLink = () => tracker.trackLink(refIds[links.own] ?? '', { context: links.own });
  const nothing = async () => {};

  /** Lets the housekeeping do its work once. */
  async function keepHouse(): Promise<void> {
    await pool.query(`update ${schema}.fleet set kept_at = now() - interval '1 hour'`);
    let housekeeping = { drain: nothing };
    await new Promise<void>((resolve) => {
      const run: typeof database.run = async (text, ...rest) => {
        const rows = await database.run(text, ...rest);
        if (text === statements.forgetMentioned && rows.length === 0) resolve();
        return rows;
      };
      housekeeping = createHousekeeping({ ...context, database: { ...database, run } });
    });
    await housekeeping.drain();
  }

  return {
    async track({ before, isVain }) {
      // The last poll of the job was long ago.
      await update("ended_at = ended_at - interval '1 hour', forced_at = forced_at - interval '1 hour'");
      await tracker.track({ ...job, context: isVain ? strange : settings.tracks - before.world.tracks + 1 });
    },
    untrack: () => tracker.untrack(job),
    retry: () => tracker.retry('all'),
    callback: ({ at: [link = 0] }) => tracker.receive(String(link)),
    trackLink,
    async 'trackLink misses a job'() {
      await trackLink();
      // Neither statement sees the row of the other one.
      await database.run(statements.storeCallback, [
        key,
        job.userId,
        job.jobId,
        refIds[links.own],
        null,
        sign().getTime(),
        8,
        null,
      ]);
    },
    async adopt() {
      const [counted] = await database.run(statements.countJobs, [JSON.stringify([linkKey])]);
      if (counted?.has_mentioned === 'true') await database.run(statements.adopt, [linkKey]);
    },
    async forget() {
      await update("ended_at = ended_at - interval '1 year'");
      await keepHouse();
    },
    'a lease ends': () => update("deliver_at = now() - interval '1 s'"),
    // What is left of an earlier deadline lies before this one.
    'the deadline passes': () =>
      update("deadline = now() - interval '3 days', late_since = late_since - interval '30 days'"),
    'the job goes on': nothing,
    'an outage begins': nothing,
    'an outage ends': nothing,
    'the job breaks': nothing,
  };
}
