/** What a signature and its verification cost: HMAC-SHA256, and Ed25519 beside the bare platform. */

import crypto from 'node:crypto';
import { ed25519, hmacSha256, type Signer } from 'hosted-client';
import { median, report, rounded } from './report.ts';

const input = { timestamp: '2026-01-02T03:04:05.678Z', partnerId: '085' };
const text = Buffer.from('2026-01-02T03:04:05.678Z085sid_request');
const pair = crypto.generateKeyPairSync('ed25519');
const seed = Buffer.from(pair.privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
const servicePublicKey = Buffer.from(pair.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');

const found: Record<string, number[]> = { hmac: [], ed25519: [], platform: [] };
const runs = {
  hmac: () => both(hmacSha256({ apiKey: 'bench-key' }), 4_000),
  ed25519: () => both(ed25519({ secretKey: seed, servicePublicKey }), 500),
  platform: async () => {
    for (let count = 0; count < 500; count++) {
      crypto.verify(null, text, pair.publicKey, crypto.sign(null, text, pair.privateKey));
    }
    return 500;
  },
};
for (let round = -2; round < 15; round++) {
  for (const [name, run] of Object.entries(runs)) {
    const before = process.cpuUsage();
    const times = await run();
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) found[name]?.push((user + system) / times);
  }
}

const [hmac, ours, platform] = ['hmac', 'ed25519', 'platform'].map((name) => rounded(median(found[name] ?? [])));
report([
  {
    what: 'Ed25519, sign and verify, CPU',
    unit: 'µs',
    ours: ours ?? 0,
    aim: 130,
    others: { 'the platform alone': platform ?? 0 },
  },
  { what: 'HMAC-SHA256, sign and verify, CPU', unit: 'µs', ours: hmac ?? 0 },
]);

async function both(signer: Signer, times: number): Promise<number> {
  for (let count = 0; count < times; count++) {
    if (!(await signer.verify(await signer.sign(input), input))) throw new Error('A signature did not verify');
  }
  return times;
}
