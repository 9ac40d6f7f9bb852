/** What a library over the package exports without annotations: a compiler that emits declarations has to name each type. */

import * as all from 'hosted-client';
import * as node from 'hosted-client/node';
import { instrument } from 'hosted-client/opentelemetry';
import * as sandboxes from 'hosted-client/sandbox';
import * as testing from 'hosted-client/testing';
import * as tracking from 'hosted-client/tracking';

export const service = testing.createMockService();
export const { sandbox, production, fetch, save, restore } = service;
export const { clientOptions, requests, links: mockLinks, jobs: mockJobs, failNext } = sandbox;
export const clock = testing.createTestClock();
export const client = new all.HostedClient({ ...clientOptions, clock, fetch });
export const derived = client.withOptions({ environment: 'production', apiKey: 'other' });
export const lazy = all.HostedClient.fromEnv({}, { lazy: true });
export const { links, jobs, callbacks } = client;
export const { create, update, disable, get, list, find } = links;
export const { status, watch, waitForCompletion, waitForAll } = jobs;
export const { receive, confirm } = callbacks;
export const handle = callbacks.handler({ onEvent: (event, { state }) => console.log(event, state) });
export const receivers = [node.nodeHandler(handle), node.lambdaHandler(handle)] as const;
export const signers = [all.hmacSha256({ apiKey: 'key' }), all.ed25519] as const;

/** The functions, classes and guards themselves. */
export const {
  HostedClient,
  HostedApiError,
  HostedConfigError,
  HostedConnectionError,
  HostedError,
  HostedPollTimeoutError,
  HostedResponseError,
  HostedSignatureError,
  HostedTimeoutError,
  HostedValidationError,
  ed25519,
  hmacSha256,
  isHostedError,
} = all;
export const { startSandbox } = sandboxes;
export const { createMockService, createTestClock, createTestTracker } = testing;
export const { createTracker, HostedStorageError, migrateTracking, postgresReplayGuard } = tracking;
export const { lambdaHandler, nodeHandler } = node;

/** What a decorator or a mock makes of a function: each parameter and each result by itself. */
const wrap =
  <Given extends unknown[], Result>(make: (...given: Given) => Result) =>
  (...given: Given) =>
    make(...given);
export const wrapped = {
  ed25519: wrap(ed25519),
  hmacSha256: wrap(hmacSha256),
  startSandbox: wrap(startSandbox),
  createMockService: wrap(createMockService),
  createTestClock: wrap(createTestClock),
  createTestTracker: wrap(createTestTracker),
  createTracker: wrap(createTracker),
  migrateTracking: wrap(migrateTracking),
  postgresReplayGuard: wrap(postgresReplayGuard),
  lambdaHandler: wrap(lambdaHandler),
  nodeHandler: wrap(nodeHandler),
  instrument: wrap(instrument),
  isHostedError: wrap(isHostedError),
  handle: wrap(handle),
  links: [wrap(create), wrap(update), wrap(disable), wrap(get), wrap(list), wrap(find)] as const,
  jobs: [wrap(status), wrap(watch), wrap(waitForCompletion), wrap(waitForAll)] as const,
  callbacks: [wrap(receive), wrap(confirm), wrap(callbacks.handler)] as const,
};

/** The properties of options, results and errors by themselves. */
export const properties = (
  options: Required<all.HostedClientOptions>,
  waits: Required<all.WaitOptions>,
  handlers: Required<all.HandlerOptions>,
  guard: Required<all.ReplayGuard>,
  signature: all.HostedSignatureError,
  response: all.HostedResponseError,
) => ({
  options: { ...options },
  waits: { ...waits },
  handlers: { ...handlers },
  guard: { ...guard },
  reasons: [signature.reason, response.reason] as const,
});

/** What each function resolves with. */
export const calls = {
  links: async (refId: string, link: all.NewLink) => ({
    created: await links.create(link).withResponse(),
    changed: [await links.update(refId, { isDisabled: true }), await links.disable(refId)] as const,
    link: await links.get(refId),
    list: links.list(),
    page: await links.list(),
    pages: links.list().pages(),
    found: await links.find({ name: refId }),
  }),
  jobs: async (job: all.JobRef) => ({
    status: await jobs.status(job),
    watched: jobs.watch(job),
    completed: await jobs.waitForCompletion(job),
    all: jobs.waitForAll([{ ...job, customer: 1 }]),
    hint: await callbacks.receive(''),
    confirmed: await callbacks.confirm(await callbacks.receive('')),
  }),
  errorOf: (error: unknown) => (isHostedError(error) ? ([error, error.toJSON()] as const) : null),
  mock: async (job: all.JobRef) => ({
    seeded: mockLinks.seed(3),
    started: mockJobs.start(),
    callback: await mockJobs.callback(job),
    delivered: await mockJobs.deliverCallback(job, { to: handle }),
  }),
};

export const startAll = async (pool: tracking.SqlPool) => {
  const running = await startSandbox({ port: 0 });
  const tracker = await createTracker<{ customer: number }>({ client, pool });
  const inTests = createTestTracker<{ customer: number }>({ client, clock });
  const guard = postgresReplayGuard({ pool });
  return { running, tracker, inTests, guard, plan: await migrateTracking({ pool }), stats: await tracker.stats() };
};

export const useAll = async ({ running, tracker, inTests }: Awaited<ReturnType<typeof startAll>>, job: all.JobRef) => ({
  played: await running.play('ref', 'approved'),
  sent: [
    await running.resend(1),
    await running.retryNow(1),
    await running.stopTrying(1),
    await running.replay(1),
  ] as const,
  tracked: await tracker.get(job),
  key: await tracker.track(job),
  link: await tracker.trackLink('ref'),
  received: await tracker.receive(''),
  handler: tracker.handler(),
  worked: await tracker.work({ handler: () => undefined, forMs: 1 }),
  dead: await tracker.deadLetters(),
  drained: await inTests.drain(),
  ended: await tracker.stop(),
});
