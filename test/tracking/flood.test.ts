// What whoever has seen a few callbacks can do: their signatures name as many jobs as they like.

import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { type OpenedDatabase, onOneDatabase } from '../support/on-each-database.ts';
import { createWorld, openTracker } from './world.ts';

type World = ReturnType<typeof createWorld>;

const startedAt = Math.floor(Date.now() / 1_000) * 1_000;

/** A signed time so many seconds before these tests began, with milliseconds. The same number gives the same time. */
function secondsAgo(seconds: number): string {
  return new Date(startedAt - seconds * 1_000 + 7).toISOString();
}

const due = { state: '1', due: 'now()', deadline: "now() + interval '1 day'" };

onOneDatabase((database) => {
  /** A tracker that only receives, and what a worker would take next. */
  async function createIntake() {
    const { world, tracker } = await openTracker(createWorld(database));
    const refId = 'public';
    await tracker.trackLink(refId);
    await world.rows(`update TRACKED set due = null where link_ref_id = '${refId}'`);
    const receive = (timestamp: string, jobId: string) =>
      tracker.receive(world.write({ timestamp, jobId, linkRefId: refId }));
    return { world, tracker, refId, receive, ...createWorker(world, database) };
  }

  test('first looks are taken one signed time after another, the newest first', async () => {
    const { receive, take } = await createIntake();
    const [old, older, oldest] = [secondsAgo(100), secondsAgo(200), secondsAgo(300)];
    for (const [timestamp, jobId] of [
      [oldest, 'oldest a'],
      [oldest, 'oldest b'],
      [older, 'older a'],
      [oldest, 'oldest c'],
      [old, 'old a'],
      [older, 'older b'],
    ] as const) {
      await receive(timestamp, jobId);
    }

    expect(await take(2)).toEqual(['old a', 'older a']);
    await receive(secondsAgo(1), 'genuine');
    expect(await take(6)).toEqual(['genuine', 'oldest a', 'older b', 'oldest b', 'oldest c']);
  });

  test('a job that is not found waits behind the first looks of the next turn, and a failure moves no job back', async () => {
    const { receive, take, fail, wait } = await createIntake();
    await receive(secondsAgo(100), 'genuine');
    await receive(secondsAgo(200), 'invented a');
    await receive(secondsAgo(200), 'invented b');

    expect(await take(2)).toEqual(['genuine', 'invented a']);
    await fail('genuine', 'server', false);
    await fail('invented a', 'not_found', true);
    await receive(secondsAgo(50), 'invented c');
    await receive(secondsAgo(50), 'invented d');
    await wait();

    expect(await take(5)).toEqual(['invented c', 'genuine', 'invented d', 'invented b', 'invented a']);
  });

  test('a callback with a newer signature takes its job out of the turns of an older one', async () => {
    const { receive, take, fail, wait } = await createIntake();
    for (let n = 0; n < 8; n++) await receive(secondsAgo(300), n === 7 ? 'genuine' : `invented ${n}`);
    await take(8);
    await fail('genuine', 'not_found', true);
    for (let n = 0; n < 3; n++) await receive(secondsAgo(100 + n), `other ${n}`);

    await receive(secondsAgo(1), 'genuine');
    // An older one changes nothing.
    await receive(secondsAgo(200), 'genuine');
    await wait();

    expect(await take(3)).toEqual(['genuine', 'other 0', 'other 1']);
  });

  test.each([
    [1, 40],
    [2, 20],
    [8, 5],
    [10, 4],
  ])(
    'in batches of %d, jobs that only callbacks have mentioned get a quarter while others wait, and all that is left',
    async (most, batches) => {
      const { world, takeBatch } = await createIntake();
      await world.insertMentioned(100, 'mentioned', due);
      await world.rows('update FLEET set mentioned_credit = 0');
      await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, due, deadline)
      select gen_random_uuid(), 0, 1, 'user', 'tracked-' || n, now(), now() + interval '1 day' from generate_series(1, 31) n`);

      const taken: (readonly string[])[] = [];
      for (let n = 0; n < batches; n++) taken.push(await takeBatch(most));

      const countMentioned = (jobs: readonly string[]) => jobs.filter((jobId) => jobId.startsWith('mentioned')).length;
      expect(countMentioned(taken.flat())).toBe(10);
      for (const batch of taken) expect(countMentioned(batch)).toBeLessThanOrEqual(Math.ceil(most / 4));
      expect(taken.flat()).toHaveLength(40);
      // One tracked job is left.
      expect(countMentioned(await takeBatch(most))).toBe(most - 1);
      expect(countMentioned(await takeBatch(most))).toBe(most);
    },
  );

  test('processes that each accept the jobs of a signed time store no more of them together', async () => {
    const { world, tracker } = await createIntake();
    const { clientOptions } = world.service;
    const other = await world.open({ client: new HostedClient(clientOptions as HostedClientOptions) });
    const timestamp = secondsAgo(100);
    const bodyOf = (n: number) => world.write({ timestamp, jobId: `job-${n}` });

    for (let n = 0; n < 8; n++) await tracker.receive(bodyOf(n));
    const refused = other.receive(bodyOf(8));

    await expect(refused).rejects.toMatchObject({ code: 'signature', reason: 'mismatch', retryable: true });
    await expect(other.receive(bodyOf(7))).resolves.toMatchObject({ jobId: 'job-7' });
    expect((await tracker.stats()).heard).toBe(8);
    // What was polled does not wait any more.
    await world.rows('update TRACKED set polls = 1');
    await other.receive(bodyOf(8));
    expect((await tracker.stats()).heard).toBe(9);
  });

  test('once 10,000 jobs wait for their first look, one more gets 503, and none of them is deleted', async () => {
    const { world, tracker, refId, receive, fail } = await createIntake();
    await receive(secondsAgo(100), 'known');
    await world.insertMentioned(9_999, 'mentioned', { ...due, link_ref_id: `'${refId}'` });
    const post = (jobId: string) =>
      tracker.handler()(
        new Request('http://x.test/', {
          method: 'POST',
          body: world.write({ timestamp: secondsAgo(0), jobId, linkRefId: refId }),
        }),
      );

    await expect(receive(secondsAgo(0), 'one more')).rejects.toMatchObject({ code: 'signature', retryable: true });
    const response = await post('and one');

    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await post('known')).status).toBe(200);
    expect(await tracker.stats()).toMatchObject({ tracking: 10_000, heard: 0 });
    // The look of one of them makes room for one.
    await fail('mentioned-9', 'not_found', true);
    expect((await post('one more')).status).toBe(200);
    expect((await post('and one')).status).toBe(503);
  });

  test('beyond 10,000, jobs of no tracked link are deleted first, then unknown ones, the oldest signed time first', async () => {
    const { world, tracker, refId, receive } = await createIntake();
    const ofLink = { link_ref_id: `'${refId}'` };
    await world.insertMentioned(9_994, 'waits', { ...due, ...ofLink });
    // Callbacks that came while trackLink() ran: they wait, too.
    await world.insertMentioned(1, 'missed', ofLink);
    await world.insertMentioned(1, 'found missing', { ...due, ...ofLink, mentioned_polls: '1' });
    await world.insertMentioned(2, 'given up', { ...ofLink, mentioned_polls: '10', last_error: "'not_found'" });
    await world.insertMentioned(2, 'heard', { link_ref_id: "'of nobody'" });
    const isThere = async (name: string) =>
      (await world.rows(`select 1 from TRACKED where job_id = '${name}'`)).length > 0;

    for (const [n, gone] of ['heard-2', 'heard-1', 'given up-2', 'given up-1', 'found missing-1'].entries()) {
      expect(await isThere(gone), gone).toBe(true);
      await receive(secondsAgo(n), `new ${n}`);
      expect(await isThere(gone), gone).toBe(false);
    }
    await expect(receive(secondsAgo(6), 'new 6')).rejects.toMatchObject({ code: 'signature', retryable: true });

    expect(await tracker.stats()).toMatchObject({ tracking: 9_999, heard: 1 });
  });
});

/** What a worker takes, and what it stores of a look. */
function createWorker(world: World, { pool }: OpenedDatabase) {
  // What was taken is not due again before `wait`, however slow the machine is.
  const statements = world.statements({ minDelayMs: 3_600_000, maxDelayMs: 3_600_000 });
  async function takeBatch(most: number): Promise<readonly string[]> {
    await world.rows(`update FLEET set rate = ${most * 10}, tokens = ${most}, refilled_at = clock_timestamp()`);
    const { rows } = await pool.query(statements.claim, [most, true]);
    const [{ taken }] = rows as [{ taken: string | null }];
    return (JSON.parse(taken ?? '[]') as readonly { job_id: string }[]).map(({ job_id }) => job_id);
  }
  return {
    /** Takes as many rows as there are tokens. */
    takeBatch,
    /** Takes one row after another. */
    async take(count: number): Promise<readonly string[]> {
      const taken: string[] = [];
      for (let n = 0; n < count; n++) taken.push(...(await takeBatch(1)));
      return taken;
    },
    /** All jobs that were looked at are due again. */
    async wait(): Promise<void> {
      await world.rows("update TRACKED set due = now() - interval '1 second' where due is not null");
    },
    /** What is stored of a look that failed. */
    async fail(jobId: string, error: string, isAnswer: boolean): Promise<void> {
      const [row] = await world.rows(`select key, link_ref_id from TRACKED where job_id = '${jobId}'`);
      const note = { ...row, last_error: error, is_proven: false, is_late: false, first_answers: isAnswer ? 1 : 0 };
      await pool.query(statements.note, [JSON.stringify([note]), JSON.stringify([row?.key])]);
    },
  };
}
