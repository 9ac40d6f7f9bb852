// What a user of the handler sees of jobs whose verdicts change, with the mock service signing.

import { type HandlerOptions, HostedClient, type JobEvent, type JobRef, type JobStatus } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { newLink, now } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

failOnStrayRejections();

/** A service with one job of a link, a handler, and the recipe's table, which keeps the verdict by job. */
async function start(before?: HandlerOptions['onEvent'], edit = (body: Record<string, unknown>): object => body) {
  const clock = createTestClock(now);
  const service = createMockService({ clock, spelling: 'random' });
  const { sandbox } = service;
  const fetch: typeof globalThis.fetch = async (...sent) => {
    const response = await service.fetch(...sent);
    return sent[0].toString().includes('job_status') ? Response.json(edit(await response.json())) : response;
  };
  const client = new HostedClient({ ...sandbox.clientOptions, fetch, clock });
  const { refId } = await client.links.create(newLink);
  const job = sandbox.jobs.start({ linkRefId: refId });
  const events: (JobEvent & { readonly seen: string })[] = [];
  const table = new Map<string, { readonly state: string; readonly signedAt: number }>();
  const handle = client.callbacks.handler({
    async onEvent(event, status) {
      await before?.(event, status);
      events.push({ ...event, seen: describeStatus(status) });
      const row = table.get(event.jobId);
      const signedAt = event.signedAt.getTime();
      if (!row || row.signedAt < signedAt) table.set(event.jobId, { state: status.state, signedAt });
    },
  });
  const redeliver = async (request: Request) => {
    for (;;) {
      const { status } = await handle(request.clone());
      if (status === 200) return;
      await clock.sleep?.(30_000);
    }
  };
  return {
    clock,
    sandbox,
    client,
    handle,
    redeliver,
    job,
    refId,
    events,
    seen: () => events.map(({ seen }) => seen),
    state: (of: JobRef = job) => table.get(of.jobId)?.state,
    /** Delivers the callback of a result until the response is 200, a minute at most. */
    async deliver(entry?: number, of: JobRef = job): Promise<void> {
      const delivering = redeliver(await sandbox.jobs.callback(of, entry === undefined ? {} : { entry }));
      await clock.advance(60_000);
      await delivering;
    },
  };
}

const describeStatus = ({ state, history }: JobStatus) =>
  [state, ...(history ?? []).map(({ resultCode }) => resultCode)].join(' ');

const verdicts = { rejected: 'failed', approved: 'succeeded' } as const;
const codes = { rejected: '0811', approved: '0810' } as const;

test.each([[['rejected', 'approved', 'rejected'] as const], [['approved', 'rejected', 'approved'] as const]])(
  'each of the verdicts %j is handed over, in order, with an id of its own',
  async (outcomes) => {
    const { sandbox, job, refId, deliver, events, seen, state } = await start();

    for (const outcome of outcomes) {
      sandbox.jobs.complete(job, outcome);
      await deliver();
      expect(state()).toBe(verdicts[outcome]);
    }
    // All of them are redelivered, the first last.
    for (const entry of [2, 1, 0]) await deliver(entry);

    expect(seen()).toEqual(
      outcomes.map((outcome, at) =>
        [verdicts[outcome], ...outcomes.slice(0, at + 1).map((each) => codes[each])].join(' '),
      ),
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    for (const event of events) expect(event).toMatchObject({ ...job, linkId: refId });
  },
);

test('without a history, a job that returns to an earlier version has its id again, and the table is right', async () => {
  const withoutHistory = ({ history, ...body }: Record<string, unknown>) => body;
  const { sandbox, job, deliver, events, state } = await start(undefined, withoutHistory);

  for (const outcome of ['rejected', 'approved', 'rejected'] as const) {
    sandbox.jobs.complete(job, outcome);
    await deliver();
    expect(state()).toBe(verdicts[outcome]);
  }

  expect(events.map(({ seen }) => seen)).toEqual(['failed', 'succeeded', 'failed']);
  expect(events[2]?.id).toBe(events[0]?.id);
  expect(events[1]?.id).not.toBe(events[0]?.id);
});

test('of two callbacks in flight, a slow onEvent of the first delays the second, and the last word stays', async () => {
  const started = await start((_event, { success }) => (success ? started.clock.sleep?.(4_000) : undefined));
  const { sandbox, job, clock, redeliver, events, seen, state } = started;

  const delivered: Promise<void>[] = [];
  for (const outcome of ['approved', 'rejected'] as const) {
    sandbox.jobs.complete(job, outcome);
    delivered.push(redeliver(await sandbox.jobs.callback(job)));
    await clock.advance(1_000);
  }
  await clock.advance(60_000);
  await Promise.all(delivered);

  expect(seen()).toEqual(['succeeded 0810', 'failed 0810 0811']);
  expect(Number(events[1]?.signedAt)).toBeGreaterThan(Number(events[0]?.signedAt));
  expect(state()).toBe('failed');
});

test('two results with one code: seconds apart they are two events, at once they are one whose status has both', async () => {
  const { sandbox, job, deliver, seen } = await start();
  const other = sandbox.jobs.start();
  const idVerified = { resultCode: '1012', resultText: 'ID Validated', resultType: 'ID Verification', final: true };
  for (const each of [job, other]) {
    sandbox.jobs.complete(each, 'approved');
    sandbox.jobs.report(each, idVerified);
  }

  await deliver();
  sandbox.jobs.report(job, idVerified);
  await deliver();
  sandbox.jobs.report(other, idVerified);
  for (const entry of [1, 2]) await deliver(entry, other);

  expect(seen()).toEqual(['succeeded 0810 1012', 'succeeded 0810 1012 1012', 'succeeded 0810 1012 1012']);
});

test('late, altered and padded callbacks, and two results under one signed time, are hints of one change', async () => {
  const { sandbox, job, handle, clock, seen } = await start();
  sandbox.jobs.complete(job, 'rejected');
  const statuses: number[] = [];

  for (const variant of [{ variant: 'altered' }, {}, { padBytes: 1_500_000 }, { variant: 'stale' }] as const) {
    void sandbox.jobs.deliverCallback(job, { to: handle, ...variant }).then(({ status }) => statuses.push(status));
  }
  await clock.advance(10_000);

  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(seen()).toEqual(['failed 0811']);
});

test('two partners and two environments whose ids are the same share a guard, and nothing is skipped', async () => {
  const known = new Set<string>();
  const ids = new Set<string>();
  const replayGuard = {
    begin: async (key: string) => (known.has(key) ? ('known' as const) : 'new'),
    commit: async (key: string) => void known.add(key),
    forget: async () => undefined,
  };
  const clock = createTestClock(now);
  const services = [createMockService({ clock }), createMockService({ clock, partnerId: '086' })];

  for (const service of services) {
    for (const environment of [service.sandbox, service.production]) {
      const client = new HostedClient({ ...environment.clientOptions, fetch: service.fetch, clock });
      const job = environment.jobs.start({ userId: 'user-1', jobId: 'job-1' });
      environment.jobs.complete(job, 'approved');
      const to = client.callbacks.handler({ replayGuard, onEvent: ({ id }) => void ids.add(id) });
      expect((await environment.jobs.deliverCallback(job, { to })).status).toBe(200);
    }
  }

  expect([known.size, ids.size]).toEqual([4, 4]);
});

test('nothing that onEvent gets comes from the unsigned body', async () => {
  const got: unknown[] = [];
  const { sandbox, handle, job, clock, refId } = await start((...given) => void got.push(given));
  sandbox.jobs.complete(job, 'approved');
  const genuine = JSON.parse(await (await sandbox.jobs.callback(job)).text()) as { readonly PartnerParams: object };
  const result = { ResultText: 'forged', ResultType: 'forged', HostedJobID: 'forged', FullName: 'forged', forged: 1 };
  const PartnerParams = { ...genuine.PartnerParams, link_id: 'forged', job_type: 'forged' };

  const body = JSON.stringify({ ...genuine, ...result, PartnerParams });
  void handle(new Request('https://partner.test', { method: 'POST', body }));
  await clock.advance(5_000);

  expect(got).toMatchObject([[{ ...job, linkId: refId }, { state: 'succeeded' }]]);
  expect(JSON.stringify(got)).not.toContain('forged');
});
