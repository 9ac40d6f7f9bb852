// What is not signed brings about nothing but a request about the job, and what a caller changes stays his own.

import { HostedClient } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { newLink, now } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

failOnStrayRejections();

async function start() {
  const clock = createTestClock(now);
  const service = createMockService({ clock, spelling: 'random' });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, clock });
  const { refId } = await client.links.create(newLink);
  const { jobs } = service.sandbox;
  const job = jobs.start({ linkRefId: refId });
  jobs.complete(job, 'approved');
  const got: unknown[] = [];
  const handle = client.callbacks.handler({ onEvent: (...given) => void got.push(given) });
  return { clock, client, jobs, job, refId, got, handle };
}

test('late, altered and padded callbacks are hints of one change', async () => {
  const { jobs, job, handle, clock, got } = await start();
  const statuses: number[] = [];

  for (const variant of [{ variant: 'altered' }, {}, { padBytes: 1_500_000 }, { variant: 'stale' }] as const) {
    void jobs.deliverCallback(job, { to: handle, ...variant }).then(({ status }) => statuses.push(status));
  }
  await clock.advance(10_000);

  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(got).toMatchObject([[{ ...job }, { state: 'succeeded' }]]);
});

test('nothing that onEvent gets comes from the unsigned body', async () => {
  const { jobs, job, refId, handle, clock, got } = await start();
  const genuine = JSON.parse(await (await jobs.callback(job)).text()) as { readonly PartnerParams: object };
  const result = { ResultText: 'forged', ResultType: 'forged', HostedJobID: 'forged', FullName: 'forged', forged: 1 };
  const PartnerParams = { ...genuine.PartnerParams, link_id: 'forged', job_type: 'forged' };

  const body = JSON.stringify({ ...genuine, ...result, PartnerParams });
  void handle(new Request('https://partner.test', { method: 'POST', body }));
  await clock.advance(5_000);

  expect(got).toMatchObject([[{ ...job, linkId: refId }, { state: 'succeeded' }]]);
  expect(JSON.stringify(got)).not.toContain('forged');
});

test('an onEvent that changes its event is called once', async () => {
  const { clock, client, jobs, job } = await start();
  let calls = 0;
  const handle = client.callbacks.handler({
    onEvent(event) {
      calls += 1;
      event.signedAt.setTime(0);
      Object.assign(event, { id: 'another' });
    },
  });

  const statuses: number[] = [];
  for (const _ of [1, 2]) {
    void jobs.deliverCallback(job, { to: handle }).then(({ status }) => statuses.push(status));
    await clock.advance(20_000);
  }

  expect([calls, ...statuses]).toEqual([1, 200, 200]);
});
