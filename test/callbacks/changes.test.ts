// The changes of a job, as a handler hands them over: each one once, in order, one at a time, whatever the callbacks do.

import { HostedClient, type JobEvent, type JobRef, type JobStatus } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { createMemoryGuard } from '../../src/callbacks/memory-guard.js';
import {
  backoffMs,
  type Content,
  createSharedGuard,
  createTable,
  createVirtualClock,
  type Entry,
  entryOf,
  type Hint,
  hour,
  job,
  minute,
  second,
  startProcess,
  toIso,
  toSeconds,
  writeStatus,
} from './job-world.js';

interface Setup {
  readonly processes?: number;
  /** How long `onEvent` takes the first time, in ms. */
  readonly firstEventMs?: number;
  /** How long the body of the first status takes after it was signed, in ms. */
  readonly firstBodyMs?: number;
  readonly writeTime?: (ms: number) => string;
}

/** A service with jobs that change, and processes that share a guard and a table. */
function startWorld({ processes: count = 1, writeTime = toIso, ...setup }: Setup = {}) {
  const clock = createVirtualClock();
  const guard = createSharedGuard(clock);
  const table = createTable();
  const contents = new Map<string, Content>();
  const heard: { readonly event: JobEvent; readonly status: JobStatus }[] = [];
  let requests = 0;
  let running = 0;
  let mostRunning = 0;

  async function respond(ref: JobRef): Promise<object> {
    requests += 1;
    const bodyMs = requests === 1 ? (setup.firstBodyMs ?? 50) : 50;
    await clock.sleep(50);
    const content = contents.get(ref.jobId) ?? { state: 'pending', entries: [] };
    const timestamp = writeTime(clock.now());
    await clock.sleep(bodyMs);
    return writeStatus(content, ref, timestamp);
  }

  async function onEvent(event: JobEvent, status: JobStatus): Promise<void> {
    heard.push({ event, status });
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    await clock.sleep(heard.length === 1 ? (setup.firstEventMs ?? 10) : 10);
    table.upsert(event, status);
    running -= 1;
  }

  const processes = Array.from({ length: count }, () => startProcess({ clock, guard, respond, onEvent }));

  /** Delivers a callback until it gets 200, as the service does. Returns the responses. */
  async function deliver(hint: Hint, first = 0): Promise<readonly string[]> {
    const responses: string[] = [];
    for (const waitMs of [...backoffMs, 0]) {
      const process = processes[(first + responses.length) % count];
      const response = (await process?.deliver(hint)) ?? '';
      responses.push(response);
      if (response.startsWith('200')) break;
      await clock.sleep(waitMs);
    }
    return responses;
  }

  return {
    clock,
    table,
    heard,
    deliver,
    /** Changes the job, and returns the callback that tells it. */
    change(content: Content, ref: JobRef = job): Hint {
      contents.set(ref.jobId, content);
      return { ...ref, entry: content.entries.at(-1) ?? {}, timestamp: writeTime(clock.now()) };
    },
    mostRunning: () => mostRunning,
    states: () => heard.map(({ status }) => status.state),
    isInOrder: () =>
      heard.every(
        ({ event }, index) => index === 0 || Number(heard[index - 1]?.event.signedAt) < Number(event.signedAt),
      ),
  };
}

/** The contents of a job that has these states one after the other. */
function contentsOf(states: readonly Content['state'][], hasHistory: boolean): readonly Content[] {
  const entries = states.map((state, index) => entryOf(hasHistory ? `result-${index}` : 'result', codeOf(state)));
  return states.map((state, index) => ({
    state,
    hasHistory,
    entries: hasHistory ? entries.slice(0, index + 1) : entries.slice(index, index + 1),
  }));
}

const codeOf = (state: Content['state']) => ({ ResultCode: state === 'succeeded' ? '0810' : '0811' });

const overturned = [
  ['failed', 'succeeded', 'failed'],
  ['succeeded', 'failed', 'succeeded'],
] as const;

for (const states of overturned) {
  for (const hasHistory of [true, false]) {
    const how = hasHistory ? 'with a history' : 'without a history';
    test(`a job that is ${states.join(', then ')}, ${how}, is handed over three times, and the table ends with its last state`, async () => {
      const { clock, table, heard, states: heardStates, change, deliver } = startWorld();

      for (const content of contentsOf(states, hasHistory)) {
        const responses = deliver(change(content));
        await clock.advance(minute);
        expect(await responses).toEqual(['200 accepted']);
      }

      expect(heardStates()).toEqual(states);
      expect(table.rowOf()?.state).toBe(states[2]);
      // Without a history, the third version is the first again, and has its id.
      expect(new Set(heard.map(({ event }) => event.id)).size).toBe(hasHistory ? 3 : 2);
    });
  }
}

const slow = {
  'whose first status is slow in its body': { firstBodyMs: 8 * second },
  'whose first onEvent is slow': { firstEventMs: 8 * second },
};

for (const [what, setup] of Object.entries(slow)) {
  for (const processes of [1, 2]) {
    test(`two callbacks in flight in ${processes} processes, ${what}, are heard in order, one at a time`, async () => {
      const world = startWorld({ ...setup, processes });
      const { clock, table, change, deliver } = world;
      const [first, last] = contentsOf(['succeeded', 'failed'], true);

      const one = deliver(change(first as Content), 0);
      await clock.advance(3 * second);
      const other = deliver(change(last as Content), 1);
      await clock.advance(hour);

      expect((await one).at(-1)).toMatch(/^200 /);
      expect((await other).at(-1)).toMatch(/^200 /);
      expect(world.states().at(-1)).toBe('failed');
      expect(world.isInOrder()).toBe(true);
      expect(world.mostRunning()).toBe(1);
      expect(table.rowOf()?.state).toBe('failed');
    });
  }
}

const validated = (IDType: string): Entry =>
  entryOf('0000000857', { ResultCode: '1012', ResultType: 'ID Verification', IDType, Country: 'NG' });
const one: Content = { state: 'succeeded', entries: [validated('BVN')] };
const both: Content = { state: 'succeeded', entries: [validated('BVN'), validated('NIN')] };
const idTypesOf = ({ history }: JobStatus) => history?.map(({ identity }) => identity?.idType);

test('two results of one code with different IDs, seconds apart, are two events, and the second has both', async () => {
  const { clock, heard, change, deliver } = startWorld();

  for (const content of [one, both]) {
    void deliver(change(content));
    await clock.advance(10 * second);
  }

  expect(heard.map(({ status }) => idTypesOf(status))).toEqual([['BVN'], ['BVN', 'NIN']]);
  expect(heard[0]?.event.id).not.toBe(heard[1]?.event.id);
});

test('two results of one code with different IDs at once are one event that has both', async () => {
  const { clock, heard, change, deliver } = startWorld();

  const responses = [deliver(change(one)), deliver(change(both))];
  await clock.advance(minute);

  expect(await Promise.all(responses)).toEqual([['200 accepted'], ['200 accepted']]);
  expect(heard.map(({ status }) => idTypesOf(status))).toEqual([['BVN', 'NIN']]);
});

for (const processes of [1, 2]) {
  test(`two results signed in the same second both get 200 from ${processes} processes`, async () => {
    const { clock, table, change, deliver } = startWorld({ writeTime: toSeconds, processes });
    const [first, last] = contentsOf(['failed', 'succeeded'], true);
    await clock.advance(322);

    const one = deliver(change(first as Content), 0);
    await clock.advance(600);
    const other = deliver(change(last as Content), 1);
    await clock.advance(hour);

    expect((await one).at(-1)).toMatch(/^200 /);
    expect((await other).at(-1)).toMatch(/^200 /);
    expect(table.rowOf()?.state).toBe('succeeded');
  });
}

test('two partners and two environments with the same ids of jobs have different ids of events in one guard', async () => {
  const guard = createMemoryGuard({ elapsed: () => 0 });
  const ids = new Set<string>();
  for (const partnerId of ['085', '086']) {
    const service = createMockService({ partnerId });
    for (const environment of ['sandbox', 'production'] as const) {
      const { clientOptions, jobs } = service[environment];
      const client = new HostedClient({ ...clientOptions, fetch: service.fetch });
      const to = client.callbacks.handler({ onEvent: ({ id }) => void ids.add(id), replayGuard: guard });
      jobs.complete(jobs.start(job), 'approved');

      expect((await jobs.deliverCallback(job, { to })).status).toBe(200);
    }
  }

  expect(ids.size).toBe(4);
});

const linked = (link_id: string, ref: JobRef = job): Entry =>
  entryOf('1', { PartnerParams: { user_id: ref.userId, job_id: ref.jobId, link_id } });
const others = [
  { userId: job.userId, jobId: 'job-2' },
  { userId: 'user-2', jobId: job.jobId },
  { userId: 'user-2', jobId: 'job-2' },
].map((ref) => linked('of-another', ref));

const links: readonly (readonly [what: string, history: readonly Entry[], linkId: string | null])[] = [
  ['of the entry that names the job', [...others, linked('own'), ...others], 'own'],
  ['of no entry, if none names the job', others, null],
  ['of no entry, if two of the job name different links', [linked('own'), linked('another')], null],
  ['of the only entry with a link', [entryOf('0'), linked('own')], 'own'],
];

for (const [what, history, linkId] of links) {
  test(`the link of an event is that ${what}`, async () => {
    const { clock, heard, change, deliver } = startWorld();

    const hint = change({ state: 'succeeded', entries: history, more: { result: entryOf('1') } });
    void deliver({ ...hint, entry: linked('of the callback') });
    await clock.advance(minute);

    expect(heard.map(({ event }) => event.linkId)).toEqual([linkId]);
  });
}
