// Bodies over 64 KiB are verified before they are parsed; what becomes of them is what the parsed body says.

import { HostedResponseError, HostedSignatureError } from 'hosted-client';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { clientOf, now, rejection, sign } from '../support/fake-fetch.js';

const nowText = '2026-01-02T03:04:05.678Z';

afterEach(() => {
  vi.restoreAllMocks();
});

const result = {
  ResultCode: '0810',
  HostedJobID: '0000001111',
  PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
};

const photo = 'A'.repeat(70_000);
const genuinePair = { timestamp: nowText, signature: sign(nowText) };

function receive(body: string | Uint8Array) {
  return clientOf({}).client.callbacks.receive(body);
}

function post(body: BodyInit): Request {
  return new Request('https://partner.test/callbacks', { method: 'POST', body });
}

// Before it is parsed -------------------------------------------------------

/** Counts the texts over 64 KiB that are given to JSON.parse. */
function countLargeParses(): () => number {
  const parse = vi.spyOn(JSON, 'parse');
  return () => parse.mock.calls.filter(([text]) => text.length > 65_536).length;
}

test.each([
  ['unsigned', {}, 'missing'],
  ['signed with another key', { timestamp: nowText, signature: sign(nowText, 'another-key') }, 'mismatch'],
  ['signed for another time', { timestamp: '2026-01-02T03:04:05.679Z', signature: sign(nowText) }, 'mismatch'],
  ['signed without a time', { signature: sign(nowText) }, 'malformed'],
  ['signed with a list', { timestamp: nowText, signature: [sign(nowText)] }, 'malformed'],
  ['signed with a string of 8 KiB beside the signature', { ...genuinePair, sec_key: 'A'.repeat(8_192) }, 'malformed'],
  ['signed a day ago', { timestamp: '2026-01-01T03:04:05.678Z', signature: sign('2026-01-01T03:04:05.678Z') }, 'stale'],
])('a large body that is %s is refused as %s without being parsed', async (_what, pair, reason) => {
  const countParses = countLargeParses();

  const error = await rejection(receive(JSON.stringify({ ...result, ...pair, Photo: photo })), HostedSignatureError);

  expect(error).toMatchObject({ reason });
  expect(countParses()).toBe(0);
});

test.each([
  ['a list', `[${JSON.stringify({ ...result, ...genuinePair, Photo: photo })}]`],
  ['more than 10,000 values', JSON.stringify({ ...result, ...genuinePair, a: Array(70_000).fill(1) })],
  ['levels deeper than 64', `{"a":${'['.repeat(70)}${' '.repeat(70_000)}${']'.repeat(70)}}`],
  ['no end', JSON.stringify({ ...result, Photo: photo }).slice(0, -1)],
  ['blanks alone', ' '.repeat(70_000)],
])('a large body with %s is refused as malformed without being parsed', async (_what, body) => {
  const countParses = countLargeParses();

  const error = await rejection(receive(body), HostedResponseError);

  expect(error).toMatchObject({ reason: 'malformed' });
  expect(countParses()).toBe(0);
});

test('a large body that is genuine is parsed once, and read like a small one', async () => {
  const countParses = countLargeParses();

  const event = await receive(JSON.stringify({ ...result, ...genuinePair, Photo: photo }));

  expect(event).toMatchObject({ userId: 'user-1', jobId: 'job-1', signedAt: new Date(now) });
  expect(event.entry.extra.Photo).toBe(photo);
  expect(countParses()).toBe(1);
});

test('a large body that is not JSON is refused as malformed although its pair is genuine', async () => {
  const body = JSON.stringify({ ...result, ...genuinePair, Photo: photo }).replace('"ResultCode":', '"ResultCode"');

  expect(await rejection(receive(body))).toMatchObject({ code: 'response', reason: 'malformed' });
});

test('a large body whose pair the parser reads otherwise than the scan is refused as malformed', async () => {
  // Half a character of a string becomes another one in bytes, over which the signature is right.
  const pair = { timestamp: 'x?', signature: sign('x\ufffd') };
  const body = JSON.stringify({ ...result, ...pair, Photo: photo }).replace('x?', 'x\ud800');

  const receiving = clientOf({}).client.callbacks.receive(body, { maxAgeMs: false });

  expect(await rejection(receiving)).toMatchObject({ code: 'response', reason: 'malformed' });
});

test('a large body whose bytes are not UTF-8 is refused as malformed', async () => {
  const body = Buffer.from(JSON.stringify({ ...result, ...genuinePair, FullName: 'Zoë', Photo: photo }), 'latin1');

  expect(await rejection(receive(body))).toMatchObject({ code: 'response', reason: 'malformed' });
});

test.each([
  ['unsigned', {}, 401],
  ['genuine', genuinePair, 200],
])('callbacks.handler() responds to a large body that is %s with %d', async (_what, pair, status) => {
  const handle = clientOf({}).client.callbacks.handler({ confirm: false, onEvent: () => undefined });

  expect((await handle(post(JSON.stringify({ ...result, ...pair, Photo: photo })))).status).toBe(status);
});

test('callbacks.receive() reads the bytes that it was given, whatever the caller writes into them meanwhile', async () => {
  for (const padding of ['', photo]) {
    const bytes = Buffer.from(JSON.stringify({ ...result, ...genuinePair, Photo: padding }));
    const other = Buffer.from(bytes.toString().replace('"job-1"', '"job-2"'));

    const receiving = receive(bytes);
    other.copy(bytes);

    expect((await receiving).jobId).toBe('job-1');
  }
});

/** 8 MiB of one thing. */
function fill(before: string, repeated: string, after: string): string {
  const room = 8 * 1024 * 1024 - before.length - after.length;
  return before + repeated.repeat(Math.floor(room / repeated.length)) + after;
}

// What that saves is measured by bench/door.ts.
test('no unsigned post of 8 MiB is parsed, whatever its shape', async () => {
  const handle = clientOf({}).client.callbacks.handler({ onEvent: () => undefined });
  const shapes = [
    fill('{"a":[', '{},', '{}]}'),
    fill('{"a":[', '1,', '1]}'),
    fill('{"a":"', 'A', '"}'),
    fill('{"a":"', '\\"', '"}'),
    fill('{', ' ', '}'),
    fill('{"', 'A', '":1}'),
    fill('{"a":', '1', '}'),
    fill('{', '"signature":1,', '"timestamp":1}'),
  ];
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());

  for (const shape of shapes) {
    const { status } = await handle(post(new TextEncoder().encode(shape)));
    expect([400, 401]).toContain(status);
  }

  // A time or a signature alone may be: neither is longer than an id.
  for (const [text] of parse.mock.calls) expect(text.length).toBeLessThan(2_000);
});
