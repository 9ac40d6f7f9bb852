// Bodies over 64 KiB that are written at random: what becomes of each is what its parsed properties say.

import { isHostedError, type ReplayGuard } from 'hosted-client';
import { expect, test } from 'vitest';
import { nowText } from '../callbacks/posted-callback.js';
import { clientOf, sign } from '../support/fake-fetch.js';
import { randomFrom } from '../support/random.js';

const epoch = 1767323045678;
const photo = 'A'.repeat(70_000);

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
    const { signedAt } = await clientOf({}).client.callbacks.receive(body, { replayGuard: guard });
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
