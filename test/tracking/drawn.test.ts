// Drawn calls of a tracker. The tracker for tests does what the statements do: after each call, both give the same.
// `DRAWS=2000 FIRST_SEED=2001` draws others.

import type { JobRef } from 'hosted-client';
import { expect, test } from 'vitest';
import { randomFrom } from '../support/random.ts';
import { openLite } from './databases.ts';
import { type DrawnPlace, openInMemory, prepareTables } from './drawn-place.ts';
import { newLink } from './world.ts';

const draws = Number(process.env.DRAWS ?? 25);
const firstSeed = Number(process.env.FIRST_SEED ?? 1);
const steps = 20;
/** Powers of two keep all dates at whole milliseconds. */
const options = {
  minDelayMs: 16_000,
  backoffFactor: 2,
  maxDelayMs: 4_096_000,
  maxAttempts: 3,
  maxRequestsPerSecond: 1_000,
};
const jobs: readonly JobRef[] = ['a', 'b', 'c', 'd'].map((name) => ({ userId: `user-${name}`, jobId: `job-${name}` }));
/** No outage: during one, the order of the polls decides which job is polled next. */
const faults = [null, { kind: 'status', status: 404 }] as const;

/** Draws a call, and says what it does, in words and as a function. */
type Step = readonly [what: string, take: (place: DrawnPlace) => Promise<unknown> | unknown];

function drawStep(random: () => number, refIds: readonly string[], atMs: number): Step {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const job = pick(jobs);
  const refId = pick(refIds);
  const linkRefId = pick([undefined, refId]);
  const context = pick([undefined, 'one', 'other']);
  const deadline = pick([undefined, undefined, new Date(atMs + pick([60_000, 3_600_000]))]);
  const fault = pick(faults);
  const given = { ...(context && { context }), ...(deadline && { deadline }) };
  const isFailing = random() < 0.5;
  const ms = pick([0, 3_000, 60_000, 600_000, 3_600_000]);
  const signedMs = atMs - pick([0, 0, 1, 60_000]);
  const { jobId } = job;
  const verdict = pick(['approved', 'approved', 'rejected'] as const);
  const hint = { ...job, timestamp: new Date(signedMs).toISOString(), ...(linkRefId && { linkRefId }) };
  const linked = linkRefId && { linkRefId };
  const all: readonly (readonly [weight: number, ...step: Step])[] = [
    [3, `track ${jobId} ${hint.linkRefId}`, ({ tracker }) => tracker.track({ ...job, ...given, ...linked })],
    [2, `trackLink ${refId}`, ({ tracker }) => tracker.trackLink(refId, given)],
    [4, `receive ${JSON.stringify(hint)}`, async ({ tracker, write }) => (await tracker.receive(write(hint))).isFinal],
    [1, `untrack ${jobId}`, ({ tracker }) => tracker.untrack(job)],
    [1, 'retry', ({ tracker }) => tracker.retry('all')],
    [2, `start ${jobId} ${linkRefId}`, ({ service }) => void service.jobs.start({ ...job, ...linked })],
    [3, `complete ${jobId} ${verdict}`, ({ service }) => void service.jobs.complete(job, verdict)],
    [1, `fail ${fault?.status}`, ({ fail }) => fail(fault)],
    [1, `failing handler: ${isFailing}`, (place) => Object.assign(place, { isFailing }).isFailing],
    [6, `advance ${ms}`, ({ clock }) => clock.advance(ms)],
  ];
  const [what, take] = pick(all.flatMap(([weight, ...step]) => Array.from({ length: weight }, () => step)));
  return [`${what} ${JSON.stringify(given)}`, take];
}

/** Takes a step, and returns what it gives and what can be seen after it. */
async function observe(place: DrawnPlace, [, take]: Step) {
  const { tracker, clock, completions } = place;
  const finish = async <T>(work: Promise<T>) => {
    work.catch(() => undefined);
    await clock.advance(0);
    return work;
  };
  const result = await finish((async () => take(place))().catch((error: unknown) => String(error)));
  return {
    result: result ?? null,
    stats: await finish(tracker.stats()),
    jobs: await Promise.all(jobs.map((job) => finish(tracker.get(job)))),
    dead: await finish(tracker.deadLetters()),
    handed: completions.map(({ signal: _, ...completion }) => JSON.stringify(completion)).sort(),
  };
}

test(`the tracker for tests gives what SQL gives in ${draws} drawn sequences`, { timeout: 3_600_000 }, async ({
  onTestFinished,
}) => {
  const database = await openLite();
  onTestFinished(() => database.close());
  const openOnTables = await prepareTables(database.pool);
  for (let seed = firstSeed; seed < firstSeed + draws; seed++) {
    const random = randomFrom(seed);
    const unknownJobs = random() < 0.3 ? 'track' : 'keep';
    const places = [
      await openInMemory({ ...options, unknownJobs }),
      await openOnTables({ ...options, unknownJobs }),
    ] as const;
    const refIds = await Promise.all(
      [1, 2].map(async () => {
        const [link] = await Promise.all(places.map(({ client }) => client.links.create(newLink)));
        return link?.refId ?? '';
      }),
    );
    const taken: string[] = [];
    for (let step = 0; step < steps; step++) {
      const drawn = drawStep(random, refIds, places[0].clock.now());
      taken.push(drawn[0]);
      const [memory, sql] = [await observe(places[0], drawn), await observe(places[1], drawn)];
      expect(memory, `seed ${seed}: ${taken.join('; ')}`).toEqual(sql);
    }
    for (const { tracker, clock } of places) {
      const stopped = tracker.stop({ timeoutMs: 0 });
      await clock.advance(1);
      await stopped;
    }
  }
});
