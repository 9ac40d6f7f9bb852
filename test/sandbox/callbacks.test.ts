/** Callbacks of a sandbox: what is posted, where, in which order, and how often. */

import type { SandboxCallback, SandboxOutcome } from 'hosted-client/sandbox';
import { expect, test } from 'vitest';
import { hmac } from '../testing/partner.js';
import {
  linkAndReceiver,
  listening,
  newLink,
  playAndReceive,
  receiving,
  responding,
  running,
  runningLink,
} from './running.js';

test.each([
  ['approved', ['0810'], 'succeeded'],
  ['rejected', ['0811'], 'failed'],
  ['review_approved', ['0814', '0810'], 'succeeded'],
  ['review_rejected', ['0814', '0816'], 'failed'],
  ['id_verified', ['1012', '0810'], 'succeeded'],
  ['id_not_found', ['1013', '0811'], 'failed'],
  ['never', [], 'pending'],
] satisfies [SandboxOutcome, string[], string][])(
  'the outcome %s posts %j in this order, and job status is %s',
  async (outcome, codes, state) => {
    const { sandbox, client, received, job } = await playAndReceive({ outcome });

    expect(received.map(({ body }) => body.ResultCode)).toEqual(codes);
    expect(sandbox.callbacks.map(({ resultCode }) => resultCode)).toEqual(codes);
    const status = await client.jobs.status({ ...job, history: true });
    expect(status.state).toBe(state);
    expect(status.history?.map(({ resultCode }) => resultCode)).toEqual(codes);
  },
);

test('a job is pending while it is under review', async () => {
  const { sandbox, client, link } = await runningLink({}, { reviewMs: 60_000 });

  const job = await sandbox.play(link.refId, 'review_approved');

  expect((await client.jobs.status(job)).state).toBe('pending');
});

test('a callback is signed by the key of its environment, and names its job and link', async () => {
  const { received, link, job } = await playAndReceive();

  const { timestamp, signature, PartnerParams } = (received[0]?.body ?? {}) as Record<string, string>;
  expect(signature).toBe(hmac('sandbox-test-key', String(timestamp)));
  expect(PartnerParams).toMatchObject({ user_id: job.userId, job_id: job.jobId, link_id: link.refId });
});

test('a callback refused twice and then accepted is delivered once more and not again', async () => {
  const { sandbox, received } = await playAndReceive({ statuses: [503, 500] });

  expect(received).toHaveLength(3);
  expect(received[2]).toEqual(received[0]);
  expect(sandbox.callbacks).toMatchObject([
    { id: 1, state: 'delivered', attempts: [{ status: 503 }, { status: 500 }, { status: 200, problem: null }] },
  ]);
});

test('the next callback of a job waits for the one before, and those of other jobs do not', async () => {
  const { sandbox, received, link } = await linkAndReceiver({ statuses: [503], callbackRetriesMs: [20] });

  const [first, second] = [await sandbox.play(link.refId, 'id_verified'), await sandbox.play(link.refId, 'rejected')];
  await sandbox.idle();

  const seen = received.map(({ body }) => [(body.PartnerParams as { job_id: string }).job_id, body.ResultCode]);
  expect(seen).toEqual([
    [first.jobId, '1012'],
    [second.jobId, '0811'],
    [first.jobId, '1012'],
    [first.jobId, '0810'],
  ]);
});

test('a callback that is refused for ever is given up, and the next one follows', async () => {
  const { sandbox, received } = await playAndReceive({ outcome: 'id_verified', statuses: [500, 500, 500] });

  expect(sandbox.callbacks.map(({ state, attempts }) => [state, attempts.length])).toEqual([
    ['gave_up', 3],
    ['delivered', 1],
  ]);
  expect(received).toHaveLength(4);
});

test('where nothing listens, the attempt says so', async () => {
  const { sandbox, link } = await runningLink({ callbackUrl: 'http://127.0.0.1:9/' }, { callbackRetriesMs: [] });

  await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  expect(sandbox.callbacks[0]).toMatchObject({
    state: 'gave_up',
    attempts: [{ status: null, problem: 'no server listens at the URL (ECONNREFUSED)' }],
  });
});

test('links without a callback URL have that of defaultCallbackUrl, or no callback', async () => {
  const { received, url } = await receiving();
  const withDefault = await running({ defaultCallbackUrl: url });
  const without = await running();

  for (const { sandbox, client } of [withDefault, without]) {
    const link = await client.links.create(newLink);
    await sandbox.play(link.refId, 'approved');
    await sandbox.idle();
  }

  expect(received).toHaveLength(1);
  expect(without.sandbox.callbacks).toEqual([]);
});

test.each([
  [503, 'busy', 'the receiver responded with 503 (busy)'],
  [500, ' handler\n', 'the receiver responded with 500 (handler)'],
  [401, 'forged signature', 'the receiver responded with 401'],
  [401, '{"error":"no_user"}', 'the receiver responded with 401'],
  [401, 'a'.repeat(33), 'the receiver responded with 401'],
  [401, 'of_a_key', 'the receiver responded with 401'],
])('an attempt that got %j and the text %j says: %s', async (status, text, problem) => {
  const callbackUrl = await responding(status, () => text);
  const options = { callbackRetriesMs: [], apiKeys: { sandbox: 'of_a_key' } };
  const { sandbox, refId } = await runningLink({ callbackUrl }, options);

  await sandbox.play(refId, 'approved');
  await sandbox.idle();

  expect(sandbox.callbacks).toMatchObject([{ attempts: [{ status, problem }] }]);
});

test('a redirect is not followed', async () => {
  const { sandbox, received } = await playAndReceive({ statuses: [302], callbackRetriesMs: [] });

  expect(received.map(({ path }) => path)).toEqual(['/callbacks']);
  expect(sandbox.callbacks[0]).toMatchObject({
    state: 'gave_up',
    attempts: [{ status: 302, problem: 'the receiver responded with a redirect, which is not followed' }],
  });
});

test.each([
  'http://192.0.2.1/callbacks',
  'http://[2001:db8::1]/callbacks',
  'http://0.0.0.0:9/',
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:192.0.2.1]/',
])('%s is not on this machine: nothing is sent there, and it is not tried again', async (callbackUrl) => {
  const { sandbox, link } = await runningLink({ callbackUrl });

  await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  expect(sandbox.callbacks).toMatchObject([
    { state: 'not_allowed', attempts: [{ status: null, problem: expect.stringContaining('is not on this machine') }] },
  ]);
});

test.each(['127.0.0.1', '127.1', '2130706433', 'localhost', '[::ffff:127.0.0.1]'])(
  'a callback to %s is one to this machine',
  async (host) => {
    const { sandbox, client } = await running();
    const { received, port } = await receiving();
    const link = await client.links.create({ ...newLink, callbackUrl: `http://${host}:${port}/` });

    await sandbox.play(link.refId, 'approved');
    await sandbox.idle();

    expect(received).toHaveLength(1);
  },
);

test('resend() posts once, whatever comes of it', async () => {
  const { sandbox, received } = await playAndReceive({ statuses: [200, 500] });

  const again = await sandbox.resend(1);

  expect(again).toMatchObject({ id: 2, state: 'gave_up', attempts: [{ status: 500 }] });
  expect(received).toHaveLength(2);
  await expect(sandbox.resend(7)).rejects.toMatchObject({ code: 'validation', issues: [{ path: 'callbackId' }] });
});

test.each(['forged', 'stale', 'altered', 'unsigned'] as const)('resend() makes a callback %s', async (variant) => {
  const { sandbox, received } = await playAndReceive();

  await sandbox.resend(1, { variant });

  const [genuine, other] = received.map(({ body }) => body);
  const isSigned = other?.signature === hmac('sandbox-test-key', String(other?.timestamp));
  expect(isSigned).toBe(variant === 'stale' || variant === 'altered');
  expect(other?.ResultCode === genuine?.ResultCode).toBe(variant !== 'altered');
  expect(other?.timestamp === genuine?.timestamp).toBe(variant === 'forged' || variant === 'altered');
});

test('a receiver that responds in pieces or breaks off after its status has responded', async () => {
  const callbackUrl = await listening((_message, response) => {
    response.writeHead(200).write('half');
    setImmediate(() => response.destroy());
  });
  const { sandbox, link } = await runningLink({ callbackUrl });

  await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  expect(sandbox.callbacks[0]?.state).toBe('delivered');
});

test('a callback that would act on the sandbox itself is not posted, and causes no further one', async () => {
  const { sandbox, client } = await running();
  const callbackUrl = `${sandbox.origin}/console/callbacks/1/resend`;
  const { refId } = await client.links.create({ ...newLink, callbackUrl });

  await sandbox.play(refId, 'approved');
  await sandbox.idle();

  expect(sandbox.callbacks.map(({ id, state }) => [id, state])).toEqual([[1, 'not_allowed']]);
});

test('a callback URL with a password says why nothing is posted, once, and without the password', async () => {
  const { sandbox, client } = await running({ callbackRetriesMs: [3_600_000] });
  const { refId } = await client.links.create({ ...newLink, callbackUrl: 'http://user:word@127.0.0.1:9/' });

  await sandbox.play(refId, 'approved');
  await sandbox.idle();

  expect(sandbox.callbacks).toMatchObject([
    {
      state: 'not_allowed',
      url: 'http://127.0.0.1:9/',
      attempts: [{ problem: 'the callback URL has a user name or password: remove it' }],
    },
  ]);
});

const inAnHour = { callbackRetriesMs: [3_600_000, 3_600_000] };

/** A callback that failed once with 500, and waits for an hour. */
async function waiting() {
  const { sandbox, received, refId } = await linkAndReceiver({ statuses: [500], ...inAnHour });
  await sandbox.play(refId, 'id_verified');
  await expect.poll(() => sandbox.callbacks[0]?.attempts.length).toBe(1);
  return { sandbox, received };
}

test('a waiting callback says when it is posted next, and is posted at once if it is told to', async () => {
  const { sandbox, received } = await waiting();
  const planned = sandbox.callbacks[0]?.nextAttemptAt?.getTime() ?? 0;

  const retried = await sandbox.retryNow(1);
  await sandbox.idle();

  expect(planned - Date.now()).toBeGreaterThan(3_500_000);
  expect(retried).toMatchObject({
    id: 1,
    state: 'delivered',
    nextAttemptAt: null,
    attempts: [{ status: 500 }, { status: 200 }],
  });
  expect(received.map(({ body }) => body.ResultCode)).toEqual(['1012', '1012', '0810']);
});

test('a callback that is stopped is given up, and the next one of its job follows', async () => {
  const { sandbox, received } = await waiting();

  const stopped = await sandbox.stopTrying(1);
  await sandbox.idle();

  expect(stopped).toMatchObject({ state: 'gave_up', nextAttemptAt: null });
  expect(received.map(({ body }) => body.ResultCode)).toEqual(['1012', '0810']);
});

test('a callback behind another one is stopped without being posted', async () => {
  const { sandbox, received } = await waiting();

  await sandbox.stopTrying(2);
  await sandbox.retryNow(1);
  await sandbox.idle();

  expect(sandbox.callbacks).toMatchObject([{ state: 'delivered' }, { state: 'gave_up', attempts: [] }]);
  expect(received).toHaveLength(2);
});

test('a callback that was given up is posted once more by retryNow', async () => {
  const { sandbox } = await waiting();
  await sandbox.stopTrying(1);
  await sandbox.idle();

  expect(await sandbox.retryNow(1)).toMatchObject({ state: 'delivered', attempts: [{ status: 500 }, { status: 200 }] });
});

test('a callback that was given up is posted once if retryNow is called twice at once', async () => {
  const { sandbox } = await waiting();
  await sandbox.stopTrying(1);
  await sandbox.idle();

  const [first, second] = await Promise.allSettled([sandbox.retryNow(1), sandbox.retryNow(1)]);

  expect(first).toMatchObject({ status: 'fulfilled', value: { state: 'delivered' } });
  expect(second).toMatchObject({
    status: 'rejected',
    reason: { code: 'validation', issues: [{ path: 'callbackId' }] },
  });
  expect(sandbox.callbacks[0]?.attempts).toHaveLength(2);
});

test.each(['retryNow', 'stopTrying'] as const)(
  '%s() rejects for a callback that is unknown or delivered',
  async (name) => {
    const { sandbox } = await playAndReceive();

    for (const id of [1, 9]) {
      await expect(sandbox[name](id)).rejects.toMatchObject({ code: 'validation', issues: [{ path: 'callbackId' }] });
    }
  },
);

test('a copy names its variant and the callback that it is a copy of', async () => {
  const { sandbox } = await playAndReceive();

  await sandbox.resend(1, { variant: 'forged' });
  await sandbox.resend(2);

  expect(sandbox.callbacks.map(({ variant, copyOf }) => [variant, copyOf])).toEqual([
    [null, null],
    ['forged', 1],
    [null, 1],
  ]);
});

test('a callback of a deleted job is not repeated', async () => {
  const { sandbox } = await waiting();

  sandbox.service.sandbox.reset();
  await sandbox.retryNow(1);
  await sandbox.idle();

  expect(sandbox.callbacks[0]).toMatchObject({ state: 'gave_up', attempts: [{}, { problem: 'the job was deleted' }] });
});

test('onCallback receives a callback after each delivery', async () => {
  const { url } = await receiving(500);
  const seen: (string | number | null)[][] = [];
  const onCallback = ({ state, attempts }: SandboxCallback) => {
    seen.push([state, attempts.at(-1)?.status ?? null]);
    throw new Error('of the caller');
  };
  const { sandbox, refId } = await runningLink({ callbackUrl: url }, { onCallback });
  await sandbox.play(refId, 'approved');
  await sandbox.idle();

  expect(seen).toEqual([
    ['waiting', 500],
    ['delivered', 200],
  ]);
});
