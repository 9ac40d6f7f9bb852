// The bodies that a client has in its hands, with a limit of 100 bytes in place of 64 MiB.

import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { createIntake } from '../../src/callbacks/intake.js';
import { createPlatformClock, createWaitingClock } from '../../src/runtime/clock.js';
import { deferred, rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

failOnStrayRejections();

const limits = { maxBytes: 80, bodyTimeoutMs: 1_000 };
const full = { code: 'response', reason: 'too_large', retryable: true };
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A body that arrives as a test wants. */
function startBody(declared?: number) {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isCancelled = false;
  const source = {
    start: (controller: ReadableStreamDefaultController<Uint8Array>) => {
      stream = controller;
    },
    cancel: () => {
      isCancelled = true;
    },
  };
  const headers = declared === undefined ? {} : { 'content-length': String(declared) };
  const init = { method: 'POST', headers, body: new ReadableStream(source), duplex: 'half' };
  return {
    request: new Request('https://partner.test', init as RequestInit),
    isCancelled: () => isCancelled,
    send: async (bytes: number) => {
      stream?.enqueue(new Uint8Array(bytes));
      await settle();
    },
    end: () => !isCancelled && stream?.close(),
  };
}

function startIntake() {
  const intake = createIntake(createPlatformClock(), 100);
  const read = (body: ReturnType<typeof startBody>, use = async (bytes: Uint8Array) => bytes.length) =>
    intake.read(body.request, limits, use);
  /** Reads a body of so many bytes. */
  const readWhole = async (bytes: number) => {
    const body = startBody(bytes);
    const reading = read(body);
    reading.catch(() => undefined);
    await body.send(bytes);
    body.end();
    return reading;
  };
  return { read, readWhole };
}

test.each([
  ['which its content-length declares', 60, 1],
  ['which have arrived', undefined, 60],
])('a stalled body of 60 bytes, %s, gives way to a body that arrives', async (_what, declared, sent) => {
  const { read, readWhole } = startIntake();
  const stalled = startBody(declared);
  const given = rejection(read(stalled));
  await stalled.send(sent);

  expect(await readWhole(60)).toBe(60);

  expect(await given).toMatchObject({
    ...full,
    message:
      'Cannot receive a callback: the callbacks that are being read take 64 MiB, and it has waited longest for its next byte',
  });
  expect(stalled.isCancelled()).toBe(true);
  // Its bytes are no longer in hand.
  expect(await Promise.all([readWhole(50), readWhole(50)])).toEqual([50, 50]);
});

test('the body that has gone longest without a byte gives way, and no more than are needed do', async () => {
  const { read, readWhole } = startIntake();
  const [first, second, third] = [startBody(30), startBody(30), startBody(30)];
  const readings = [first, second, third].map((body) => read(body).catch((error: unknown) => error));
  for (const body of [second, first, third]) await body.send(1);

  expect(await readWhole(40)).toBe(40);
  for (const body of [first, second, third]) body.end();

  expect(await Promise.all(readings)).toEqual([1, expect.objectContaining(full), 1]);
});

test('a body is in hand until it was used, and one that is used does not give way', async () => {
  const { read, readWhole } = startIntake();
  const [used, using] = [deferred(), deferred()];
  const body = startBody(60);
  const reading = read(body, async () => {
    using.resolve();
    await used.promise;
    return 60;
  });
  await body.send(60);
  body.end();
  await using.promise;

  expect(await rejection(readWhole(60))).toMatchObject(full);
  expect(await readWhole(40)).toBe(40);
  used.resolve();
  expect(await reading).toBe(60);
  expect(await readWhole(80)).toBe(80);
});

test('a body that grows over maxBytes is cancelled, whatever it declared', async () => {
  const { read, readWhole } = startIntake();
  const body = startBody(10);
  const reading = rejection(read(body));
  await body.send(81);

  expect(await reading).toMatchObject({ reason: 'too_large', retryable: false });
  expect(body.isCancelled()).toBe(true);
  expect(await readWhole(80)).toBe(80);
});

test('a body that does not arrive in time is no longer in hand', async () => {
  const clock = createTestClock();
  const intake = createIntake(createWaitingClock(clock), 100);
  const body = startBody(80);
  const reading = rejection(intake.read(body.request, limits, async () => 0));
  await clock.advance(1_000);

  expect(await reading).toMatchObject({ code: 'timeout', timeoutMs: 1_000 });
  const next = startBody(80);
  const whole = intake.read(next.request, limits, async (bytes) => bytes.length);
  await next.send(80);
  next.end();
  expect(await whole).toBe(80);
});
