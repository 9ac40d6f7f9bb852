// Bodies over 64 KiB are verified before they are parsed; what becomes of them is what the parsed body says.

import { HostedResponseError, HostedSignatureError, isHostedError, type ReplayGuard } from 'hosted-client';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { clientOf, now, rejection, sign } from '../support/fake-fetch.js';
import { randomFrom } from '../support/random.js';

const nowText = '2026-01-02T03:04:05.678Z';
const epoch = 1767323045678;

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

function receive(body: string | Uint8Array, replayGuard?: ReplayGuard) {
  return clientOf({}).client.callbacks.receive(body, replayGuard ? { replayGuard } : {});
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

  const error = await rejection(receive(JSON.stringify({ ...result, ...pair, Photo: photo })));

  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason });
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

  const error = await rejection(receive(body));

  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ code: 'response', reason: 'malformed' });
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
])('callbacks.handler() answers a large body that is %s with %d', async (_what, pair, status) => {
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

// As the parsed body --------------------------------------------------------

const otherText = '2026-01-02T03:04:06.000Z';
const values = {
  timestamp: [nowText, nowText, nowText, otherText, epoch, String(epoch), '', null, 'yesterday', {}, [nowText]],
  signature: [sign(nowText), sign(nowText), sign(nowText), sign(otherText), sign(String(epoch)), '', null, 5, {}, 'x'],
};

/** Writes a body with the pair in it up to three times over, under escapes, nested, in any order, and a long property. */
function createWriter(random: () => number) {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const withEscapes = (name: string) =>
    [...name]
      .map((letter) => (random() < 0.3 ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter))
      .join('');
  const property = (name: string, value: unknown) =>
    `"${random() < 0.25 ? withEscapes(name) : name}":${pick(['', ' '])}${JSON.stringify(value)}`;
  const ofPair = () => {
    const name = pick(['timestamp', 'timestamp', 'signature', 'signature', 'sec_key']);
    return property(name, pick(name === 'timestamp' ? values.timestamp : values.signature));
  };
  const decoy = () =>
    pick([
      `"Actions":{${ofPair()},${ofPair()}}`,
      `"Extra":[{${ofPair()}}]`,
      `"Note":${JSON.stringify(`","${pick(['signature', 'timestamp'])}":"${sign(nowText)}`)}`,
    ]);
  return (padding: string) => {
    const pair = random() < 0.5 ? [property('timestamp', nowText), property('signature', sign(nowText))] : [];
    const more = Array.from({ length: Math.floor(random() * 3) }, ofPair);
    const parts = [
      '"PartnerParams":{"user_id":"user-1","job_id":"job-1"}',
      ...Array.from({ length: Math.floor(random() * 3) }, decoy),
      ...pair,
      ...more,
    ].sort(() => random() - 0.5);
    const at = Math.floor(random() * (parts.length + 1));
    const write = (long: string) => `{${parts.toSpliced(at, 0, `"Photo":"${long}"`).join()}}`;
    return { small: write(''), large: write(padding) };
  };
}

/** What becomes of a body: its verdict, when it was signed, and what the guard knows it by. */
async function verdictOf(body: string): Promise<object> {
  const keys: string[] = [];
  const guard: ReplayGuard = {
    begin: async (key) => {
      keys.push(key);
      return 'new';
    },
    commit: async () => undefined,
    forget: async () => undefined,
  };
  try {
    const { signedAt } = await receive(body, guard);
    return { signedAt, keys };
  } catch (error) {
    if (!isHostedError(error) || !('reason' in error)) throw error;
    return { code: error.code, reason: error.reason, keys };
  }
}

/** Whether the parsed body's own pair is genuine, by node:crypto. */
function isGenuine(body: string): boolean {
  const { timestamp, signature, sec_key } = JSON.parse(body) as Record<string, unknown>;
  const signatures = [signature, sec_key].filter((each) => each !== undefined && each !== null && each !== '');
  const texts = [String(timestamp), ...(typeof timestamp === 'number' ? [new Date(timestamp).toISOString()] : [])];
  return (
    signatures.length > 0 &&
    ((typeof timestamp === 'string' && timestamp !== '') || typeof timestamp === 'number') &&
    signatures.every((each) => texts.some((text) => each === sign(text)))
  );
}

test('duplicate, escaped, nested and reordered properties: a large body ends as its parsed properties say', async () => {
  const write = createWriter(randomFrom(20_260_103));
  const seen = { genuine: 0, refused: 0 };

  for (let count = 0; count < 400; count++) {
    const { small, large } = write(photo);
    const verdict = await verdictOf(large);

    expect(verdict, large.replace(photo, '…')).toEqual(await verdictOf(small));
    expect('signedAt' in verdict, large.replace(photo, '…')).toBe(isGenuine(large));
    seen[isGenuine(large) ? 'genuine' : 'refused'] += 1;
  }

  expect(Math.min(seen.genuine, seen.refused)).toBeGreaterThan(50);
});
