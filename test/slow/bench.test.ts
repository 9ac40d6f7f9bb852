// The bench itself: that no variant is timed for less than it claims, that one that fails is named, and what is
// written of it all.

import { HostedClient } from 'hosted-client';
import { expect, test } from 'vitest';
import { writeResults } from '../../bench/report/results.js';
import { type Figure, formatChange, type Row } from '../../bench/row.js';
import { apiKey, job, partnerId } from '../../bench/service/fixtures.js';
import { type Kind, kinds, proveCall } from '../../bench/service/proof.js';
import { createTarget, type Target } from '../../bench/service/target.js';
import { median } from '../../bench/statistics.js';
import { createPost } from '../../bench/variants/bare.js';
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
