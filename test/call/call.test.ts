/** A call from its begin to its end: its number, and what ends it while a response is verified. */

import type { HostedEvent } from 'hosted-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clientOf, deferred, manualClock, operations, type Reply, rejection } from '../support/fake-fetch.js';

const [, , get, , status] = operations;
const never: Reply = () => new Promise<Response>(() => undefined);

let unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);

beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', note);
});

afterEach(() => {
  process.off('unhandledRejection', note);
});

test('the calls of a client are counted from 1', async () => {
  const ids: number[] = [];
  const onEvent = (event: HostedEvent) => void ids.push('callId' in event ? event.callId : Number.NaN);
  const { client } = clientOf(get.answer(), { onEvent });

  await get.call(client);
  await rejection(client.links.get(''));
  await get.call(client);

  expect([...new Set(ids)]).toEqual([1, 2, 3]);
});

/** A signer that verifies when it is told to. */
function waitingSigner() {
  const [asked, verdict] = [deferred<void>(), deferred<() => boolean>()];
  const verify = async () => {
    asked.resolve();
    return (await verdict.promise)();
  };
  return { signer: { name: 'slow', sign: () => 'signature', verify }, asked, verdict };
}

test('verifying may take longer than an attempt, and no longer than the call', async () => {
  const [clock, waiting] = [manualClock(), waitingSigner()];
  const options = { clock, signer: waiting.signer, timeoutMs: 5_000, totalTimeoutMs: 9_000 };
  const { client } = clientOf(status.answer(), options);

  const first = status.call(client);
  await waiting.asked.promise;
  clock.advance(8_999);
  waiting.verdict.resolve(() => true);
  const late = waitingSigner();
  const second = rejection(status.call(clientOf(status.answer(), { ...options, signer: late.signer }).client));
  await late.asked.promise;
  clock.advance(9_000);

  await expect(first).resolves.toMatchObject({ state: 'pending' });
  expect(await second).toMatchObject({ code: 'timeout', phase: 'total' });
});

test('a signer that rejects after its call was aborted is no unhandled rejection', async () => {
  const ending = new AbortController();
  const reason = new Error('stop');
  const verify = async () => {
    // Before anything waits for what it returns.
    ending.abort(reason);
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('the key service is away');
  };
  const { client } = clientOf(status.answer(), { signer: { name: 'slow', sign: () => 'signature', verify } });

  expect(await rejection(status.call(client, { signal: ending.signal }))).toBe(reason);
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));

  expect(unhandled).toEqual([]);
});

test('where an attempt may take as long as the call, it is the call whose time is over', async () => {
  const clock = manualClock();
  const { client, arrived } = clientOf(never, { clock, timeoutMs: 5_000, totalTimeoutMs: 5_000 });

  const call = rejection(get.call(client));
  await arrived(1);
  clock.advance(5_000);

  expect(await call).toMatchObject({ code: 'timeout', phase: 'total' });
});
