/** verifySigned(): one verdict, whether the signer answers at once or later, and nothing asked twice. */

import type { SignatureInput, Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import { verifySigned } from '../../src/signing/verify.js';

const now = Date.parse('2026-01-02T03:04:05.678Z');
const timestamp = new Date(now).toISOString();
const inSeconds = '2026-01-02T03:04:05.000Z';

/** Ways in which a signer may answer. */
const ways: readonly [string, (verdict: () => boolean) => boolean | Promise<boolean>][] = [
  ['at once', (verdict) => verdict()],
  ['by a promise', async (verdict) => verdict()],
  // biome-ignore lint/suspicious/noThenProperty: some libraries have promises of their own.
  ['by a thenable', (verdict) => ({ then: (resolve: (value: boolean) => void) => resolve(verdict()) }) as never],
];

/** A signer that verifies these pairs of signature and timestamp, and what it was asked. */
function signerOf(good: readonly string[], answers: (verdict: () => boolean) => boolean | Promise<boolean>) {
  const asked: string[] = [];
  const verify: Signer['verify'] = (signature: string, input: SignatureInput) => {
    const pair = `${signature} over ${input.timestamp}`;
    asked.push(pair);
    return answers(() => good.includes(pair));
  };
  const signer: Signer = { name: 'test', sign: () => 'own', verify };
  return { asked, by: { signer, partnerId: '085', now, maxAgeMs: 300_000 } };
}

const trusted = { isVerified: true, signedAt: new Date(now), timestamp };
const mismatch = { isVerified: false, reason: 'mismatch' };

const rows = [
  {
    what: 'one signature',
    answer: { timestamp, signature: 'a' },
    good: [`a over ${timestamp}`],
    asked: [`a over ${timestamp}`],
    verdict: trusted,
  },
  {
    what: 'two signatures',
    answer: { timestamp, signature: 'a', sec_key: 'b' },
    good: [`a over ${timestamp}`, `b over ${timestamp}`],
    asked: [`b over ${timestamp}`, `a over ${timestamp}`],
    verdict: trusted,
  },
  {
    what: 'two signatures of which the second is wrong',
    answer: { timestamp, signature: 'a', sec_key: 'b' },
    good: [`b over ${timestamp}`],
    asked: [`b over ${timestamp}`, `a over ${timestamp}`],
    verdict: mismatch,
  },
  {
    what: 'a number that is signed in its ISO form',
    answer: { timestamp: now, signature: 'a' },
    good: [`a over ${timestamp}`],
    asked: [`a over ${now}`, `a over ${timestamp}`],
    verdict: trusted,
  },
  {
    what: 'a number of seconds that is signed in its ISO form',
    answer: { timestamp: Math.floor(now / 1_000), signature: 'a' },
    good: [`a over ${inSeconds}`],
    asked: [`a over ${Math.floor(now / 1_000)}`, `a over ${inSeconds}`],
    verdict: { isVerified: true, signedAt: new Date(inSeconds), timestamp: inSeconds },
  },
  {
    what: 'a wrong signature',
    answer: { timestamp, signature: 'a' },
    good: [],
    asked: [`a over ${timestamp}`],
    verdict: mismatch,
  },
  {
    what: 'an empty timestamp',
    answer: { timestamp: '', signature: 'a' },
    good: ['a over '],
    asked: [],
    verdict: { isVerified: false, reason: 'malformed' },
  },
  {
    // ECMA-262 §21.4.1.1: a Date ends at 8.64e15 ms.
    what: 'a number that is no time any more',
    answer: { timestamp: 8_640_000_000_000_001, signature: 'a' },
    good: ['a over 8640000000000001'],
    asked: ['a over 8640000000000001'],
    verdict: { isVerified: false, reason: 'malformed' },
  },
  {
    what: 'a signature of long ago',
    answer: { timestamp: '2026-01-01T03:04:05.678Z', signature: 'a' },
    good: ['a over 2026-01-01T03:04:05.678Z'],
    asked: ['a over 2026-01-01T03:04:05.678Z'],
    verdict: { isVerified: false, reason: 'stale' },
  },
];

test.each(ways.flatMap(([way, answers]) => rows.map((row) => ({ ...row, way, answers }))))(
  'verifySigned() judges $what, where the signer answers $way',
  async ({ answers, answer, good, asked, verdict }) => {
    const signer = signerOf(good, answers);

    expect(await verifySigned({ ...answer }, signer.by)).toEqual(verdict);

    expect(signer.asked).toEqual(asked);
  },
);

test('verifySigned() waits for nothing where the signer verifies the one signature at once', () => {
  const { by } = signerOf([`a over ${timestamp}`], (verdict) => verdict());

  expect(verifySigned({ timestamp, signature: 'a' }, by)).toEqual(trusted);
});

test.each([
  ['1767323045', '2026-01-02T03:04:05.000Z'],
  ['99999999999', '5138-11-16T09:46:39.000Z'],
  ['100000000000', '1973-03-03T09:46:40.000Z'],
  ['1767323045678', '2026-01-02T03:04:05.678Z'],
])('verifySigned() reads %s as %s: up to eleven digits count seconds', async (text, iso) => {
  for (const written of [text, Number(text)]) {
    const { by } = signerOf([`a over ${text}`], (verdict) => verdict());

    expect(verifySigned({ timestamp: written, signature: 'a' }, { ...by, maxAgeMs: false })).toEqual({
      isVerified: true,
      signedAt: new Date(iso),
      timestamp: text,
    });
  }
});

const fail = () => {
  throw new Error('the key service is away');
};

test.each<[string, Signer['verify'], object]>([
  ['throws', fail, { timestamp, signature: 'a' }],
  ['rejects', async () => fail(), { timestamp, signature: 'a' }],
  [
    'throws at the second signature',
    (signature) => signature === 'b' || fail(),
    { timestamp, signature: 'a', sec_key: 'b' },
  ],
])('verifySigned() gives no verdict where the signer %s', async (_, verify, answer) => {
  const signer: Signer = { name: 'broken', sign: () => 'own', verify };

  const verdict = await verifySigned({ ...answer }, { signer, partnerId: '085', now, maxAgeMs: 300_000 });

  expect(verdict).toEqual({ isVerified: false, reason: 'signer threw' });
});
