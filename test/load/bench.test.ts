// The bench itself: that no variant is timed for less than it claims, that one that fails is named, and what is
// written of it all.

import { HostedClient } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { drawChart } from '../../bench/report/chart.js';
import { writeResults } from '../../bench/report/results.js';
import { type Figure, formatChange, type Row } from '../../bench/row.js';
import { apiKey, job, partnerId } from '../../bench/service/fixtures.js';
import { type Kind, kinds, proveCall } from '../../bench/service/proof.js';
import { createTarget, type Target } from '../../bench/service/target.js';
import { median } from '../../bench/statistics.js';
import { takeTurns } from '../../bench/turns.js';
import { createPost } from '../../bench/variants/bare.js';
import { floorVariant } from '../../bench/variants/floor.js';
import { postingVariant, type Variant } from '../../bench/variants/variant.js';

/** Proves a variant as the bench does. */
async function prove(make: (target: Target) => Variant, name: keyof typeof kinds): Promise<void> {
  const kind: Kind = kinds[name];
  const target = createTarget(null);
  const variant = make(target);
  const response = kind.write();
  target.respondWith(response);
  const call = name === 'status' ? variant.status : variant.list;
  await proveCall({ variant, call, kind, target }, Buffer.from(response).toString());
}

function clientVariant({ baseUrl, fetch }: Target): Variant {
  const client = new HostedClient({ partnerId, apiKey, baseUrls: { sandbox: baseUrl }, fetch });
  return {
    isWhole: true,
    status: () => client.jobs.status(job),
    list: async () => client.links.list(),
    pages: (walk) => client.links.list(walk).pages(),
  };
}

const bareVariant = (target: Target) => postingVariant(createPost(target));

test.each(['status', 'list', 'ascii-list'] as const)(
  'the client and bare fetch are what the bench times: %s',
  async (kind) => {
    await expect(prove(clientVariant, kind)).resolves.toBeUndefined();
    await expect(prove(bareVariant, kind)).resolves.toBeUndefined();
  },
);

test('the floor signs, verifies and decodes a job status', async () => {
  await expect(prove(floorVariant, 'status')).resolves.toBeUndefined();
});

test.each<[string, (target: Target) => Variant, RegExp]>([
  [
    'does not sign',
    (target) => ({ ...clientVariant({ ...target, fetch: unsigned(target) }), isWhole: true }),
    /A request is not signed/,
  ],
  [
    'does not verify',
    (target) => {
      const client = clientVariant(target);
      let value: unknown;
      return { ...client, status: async () => (value = await client.status().catch(() => value)) };
    },
    /A forged response was accepted/,
  ],
  ['does not decode', (target) => ({ ...bareVariant(target), isWhole: true }), /The value/],
  [
    'leaves something out',
    (target) => {
      const client = clientVariant(target);
      return { ...client, status: async () => ({ ...((await client.status()) as object), imageLinks: null }) };
    },
    /The value is not the one expected/,
  ],
])('a variant that %s is not timed', async (_what, make, reason) => {
  await expect(prove(make, 'status')).rejects.toThrow(reason);
});

/** Takes the signature out of what is sent. */
function unsigned(target: Target): typeof globalThis.fetch {
  return (input, init) => {
    const { sec_key, ...body } = JSON.parse(String(init?.body)) as Record<string, unknown>;
    return target.fetch(input, { ...init, body: JSON.stringify(body) });
  };
}

test('a variant that fails is named, and the others take their turns', async () => {
  const onError = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const participants = ['bare', 'nobody'].map((name) => ({ name, variant: name, dist: '' }));

  const outcomes = await takeTurns({
    block: 'calls',
    participants,
    settings: () => ({ kind: 'status', url: null, times: 4 }),
    rounds: 2,
  });

  expect(onError).toHaveBeenCalledWith('nobody FAILED: Error: There is no variant "nobody"');
  onError.mockRestore();
  expect(outcomes.nobody).toEqual({ failed: 'Error: There is no variant "nobody"' });
  expect(outcomes.bare).toEqual({
    figures: { cpu: [expect.any(Number), expect.any(Number)], wall: [expect.any(Number), expect.any(Number)] },
  });
}, 30_000);

const row = (figures: Readonly<Record<string, Figure>>, rest: Partial<Row> = {}): Row => ({
  what: 'job status, <in memory>',
  unit: '× bare fetch',
  figures,
  aims: [{ bound: 4.5, of: 'stripe' }],
  isCharted: true,
  ...rest,
});

test('the results say what is missed, and who failed', () => {
  const page = writeResults([
    row({ ours: { value: 4.6, spread: 0.1 }, bare: { value: 1 }, axios: { failed: 'Error: no' } }),
    row({ ours: { value: 4.4 } }, { what: 'another' }),
    row({ ours: { value: 0.9 } }, { what: 'a walk', better: 'higher', aims: [{ bound: 0.85 }] }),
  ]);

  expect(page).toContain('Missed aims (1 of 3): job status, <in memory>.');
  expect(page).toContain('- **axios failed** in job status, <in memory>: Error: no');
  expect(page).toContain('| **4.6 ± 0.1** | ≤ 4.5 (stripe) | **missed** |');
  expect(page).toContain('| **0.9** | ≥ 0.85 | reached |');
});

test('an aim that hangs on a variant that failed is missed', () => {
  expect(writeResults([row({ ours: { value: 1 } }, { aims: [{ bound: Number.NaN }] })])).toContain('**missed**');
});

test('the chart has a bar and a figure for each variant, words for those who cannot see it, and both schemes', () => {
  const figures = {
    ours: { value: 7.6 },
    bare: { value: 1 },
    'stripe, raw': { value: 2.5 },
    axios: { failed: 'Error: no' },
  };

  const chart = drawChart([row(figures), row(figures, { isCharted: false })]);

  expect(chart.match(/<rect class="bar [a-z]*" x="[\d.]+" y="\d+" width="[\d.]+" height="15"/g)).toHaveLength(4);
  expect(chart).toContain('>7.6</text>');
  expect(chart).toContain('>failed</text>');
  expect(chart).toContain('job status, &#60;in memory&#62;: ours 7.6');
  expect(chart).toMatch(/<svg [^>]*viewBox="0 0 860 \d+" role="img" aria-labelledby="title desc">\n<title id="title">/);
  expect(chart).toContain('@media (prefers-color-scheme: dark)');
  expect(chart).not.toContain('NaN');
});

test.each([
  ['slower in three rounds of four', [1.1, 1.2, 1.1, 0.9], undefined, '1.1 × before (more, WORSE)'],
  ['slower and faster by turns', [1.2, 0.9, 1.1, 0.8], undefined, '1 × before (no clear difference)'],
  ['faster', [0.8, 0.9, 0.8, 0.9], undefined, '0.85 × before (less)'],
  ['faster, where less is worse', [0.8, 0.9, 0.8, 0.9], 'higher', '0.85 × before (less, WORSE)'],
] as const)('a build that is %s is told from the one before', (_what, rounds, better, expected) => {
  const ours = { value: median(rounds), rounds };
  const before = { value: 1, rounds: rounds.map(() => 1) };

  expect(formatChange(row({ ours, before }, better ? { better } : {}))).toBe(expected);
});
