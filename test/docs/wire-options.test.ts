/** Each option of `wire` alone, for the mock service, for the sandbox, and for a client. */

import { HostedClient, type WireOptions } from 'hosted-client';
import { startSandbox } from 'hosted-client/sandbox';
import { createMockService } from 'hosted-client/testing';
import { expect, onTestFinished, test } from 'vitest';

const newLink = {
  companyName: 'Example Partner',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: null,
};

/** A value other than the default for each option. */
const options: Required<WireOptions> = {
  brand: 'acme',
  listMarker: 'all',
  firstPage: 0,
  timestampFormat: 'epoch-ms',
  jobTimestampFormat: 'epoch-s',
  jobSignatureMember: 'signature',
  echoesTimestamp: true,
  jobFlags: 'string',
  namesJob: false,
};

const names = Object.keys(options) as (keyof WireOptions)[];
const alone = (name: keyof WireOptions): WireOptions => ({ [name]: options[name] });
/** The same, but each other option is there and undefined: so values are passed on from variables that are not set. */
const besideUndefined = (name: keyof WireOptions): WireOptions => ({
  ...Object.fromEntries(names.map((other) => [other, undefined])),
  ...alone(name),
});
const table = names.flatMap((name) => [
  [name, 'alone', alone(name)] as const,
  [name, 'beside undefined ones', besideUndefined(name)] as const,
]);

/** Calls about a link, and about a job with its result. */
async function callEverything(client: HostedClient, completeJob: (refId: string) => Promise<JobRef> | JobRef) {
  const { refId } = await client.links.create(newLink);
  const job = await completeJob(refId);
  return {
    updated: (await client.links.update(refId, { isDisabled: true })).state,
    fetched: (await client.links.get(refId)).refId === refId,
    listed: (await client.links.list().toArray({ limit: 2 })).length,
    state: (await client.jobs.status({ ...job, imageLinks: true, history: true })).state,
  };
}

interface JobRef {
  readonly userId: string;
  readonly jobId: string;
}

const works = { updated: 'disabled', fetched: true, listed: 1, state: 'succeeded' };

function serve(wire: WireOptions) {
  const service = createMockService({ wire });
  const completeJob = (linkRefId: string) => {
    const job = service.sandbox.jobs.start({ linkRefId });
    service.sandbox.jobs.complete(job, 'approved');
    return job;
  };
  return { service, completeJob };
}

test.each(table)('the mock service responds with wire.%s %s', async (_name, _how, wire) => {
  const { service, completeJob } = serve(wire);
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });

  expect(await callEverything(client, completeJob)).toEqual(works);
});

test.each(table)('the sandbox responds with wire.%s %s, and its callbacks verify', async (name, _how, wire) => {
  const sandbox = await startSandbox({ port: 0, reviewMs: 1, wire });
  onTestFinished(() => sandbox.stop());
  const client = new HostedClient(sandbox.clientOptions());
  const completed: JobRef[] = [];

  const called = await callEverything(client, async (refId) => {
    const job = await sandbox.play(refId, 'approved');
    completed.push(job);
    return job;
  });

  expect(called).toEqual(works);
  expect(sandbox.clientOptions().wire).toStrictEqual(alone(name));
  const [job] = completed;
  const callback = await sandbox.service.sandbox.jobs.callback(job as JobRef);
  expect(await client.callbacks.receive(await callback.text())).toMatchObject({ jobId: job?.jobId });
});

test.each(table)('a client calls with wire.%s %s', async (name, _how, wire) => {
  const { service, completeJob } = serve(alone(name));
  const client = new HostedClient({ ...service.sandbox.clientOptions, wire, fetch: service.fetch });

  expect(await callEverything(client, completeJob)).toEqual(works);
  expect(await callEverything(client.withOptions({ wire }), completeJob)).toEqual({ ...works, listed: 2 });
});
