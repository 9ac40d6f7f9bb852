/** Signs and verifies without a call, with a build or with `node:crypto`, and measures HMAC-SHA256 and Ed25519. */

import { createHmac, createSecretKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { Signer } from 'hosted-client';
import { apiKey, partnerId } from '../service/fixtures.ts';
import { loadBuild } from '../variants/client.ts';
import { type Block, type BlockSettings, measureCalls } from './block.ts';

const times = { hmac: 4_000, ed25519: 500 };

export async function prepare({ variant, dist }: BlockSettings): Promise<Block> {
  const calls = variant === 'bare' ? platformCalls() : await buildCalls(dist);
  return async () => {
    const hmac = await measureCalls(times.hmac, calls.hmac);
    const ed25519 = await measureCalls(times.ed25519, calls.ed25519);
    if (hmac.last !== true || ed25519.last !== true) throw new Error('A signature did not verify');
    return { hmac: hmac.cpu, ed25519: ed25519.cpu };
  };
}

async function buildCalls(dist: string) {
  const { ed25519, hmacSha256 } = await loadBuild(dist);
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const secretKey = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const servicePublicKey = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const both = (signer: Signer) => async () => {
    const input = { timestamp: '2026-01-02T03:04:05.678Z', partnerId };
    return signer.verify(await signer.sign(input), input);
  };
  return { hmac: both(hmacSha256({ apiKey })), ed25519: both(ed25519({ secretKey, servicePublicKey })) };
}

function platformCalls() {
  const bytes = Buffer.from(`2026-01-02T03:04:05.678Z${partnerId}sid_request`);
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = createSecretKey(Buffer.from(apiKey));
  const sign256 = () => createHmac('sha256', key).update(bytes).digest('base64');
  return {
    hmac: async () => {
      const signature = sign256();
      return signature === sign256();
    },
    ed25519: async () => verify(null, bytes, publicKey, sign(null, bytes, privateKey)),
  };
}
