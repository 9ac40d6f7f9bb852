// Properties over generated input, seeded: signatures.

import { createHash, createHmac, createPrivateKey, createPublicKey, verify } from 'node:crypto';
import fc from 'fast-check';
import { ed25519, HostedSignatureError, hmacSha256 } from 'hosted-client';
import { expect, test } from 'vitest';
import { findPastedProblem, findPastedProblemOfPlain } from '../../src/validation/pasted.js';
import { clientOf, operations, partnerId, rejection, signed } from '../support/fake-fetch.js';
import { runs } from './generated.js';

const partnerIds = fc.oneof(
  fc.stringMatching(/^[0-9]{1,4}$/),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
    .filter((text) => /^\S+$/.test(text) && findPastedProblemOfPlain(text) === null),
);
const apiKeys = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 100 })
  .filter((key) => key.trim() !== '' && findPastedProblem(key) === null);

/** A key pair of node:crypto, from a seed of its own number (RFC 8410 §7 for the prefix). */
function keyPair(number: number) {
  const seed = Uint8Array.from(createHash('sha256').update(`seed ${number}`).digest());
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const publicKey = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  return { seed, publicKey, raw: Uint8Array.from(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)) };
}

/** Two schemes: the client's options, and whether node:crypto takes a signature for one over a text. */
const hmacScheme = apiKeys.map((apiKey) => ({
  signer: hmacSha256({ apiKey }),
  verifies: (signature: Buffer, text: string) =>
    createHmac('sha256', Buffer.from(apiKey, 'utf8')).update(Buffer.from(text, 'utf8')).digest().equals(signature),
}));
const ed25519Scheme = fc.nat({ max: 1_000 }).map((number) => {
  const { seed, publicKey, raw } = keyPair(number);
  const ours = ed25519({ secretKey: seed, servicePublicKey: raw });
  return {
    // A client takes no signer that verifies with the own public key.
    signer: { ...ours },
    verifies: (signature: Buffer, text: string) => verify(null, Buffer.from(text, 'utf8'), publicKey, signature),
  };
});
const schemes = fc.oneof({ weight: 7, arbitrary: hmacScheme }, { weight: 1, arbitrary: ed25519Scheme });
const formats = fc.constantFrom('iso', 'epoch-ms', 'epoch-s');

/** The text with one bit of one of its UTF-16 units changed; null where that is no text any more. */
function withBitChanged(text: string, number: number): string | null {
  const at = Math.floor(number / 16) % text.length;
  const changed = String.fromCharCode(text.charCodeAt(at) ^ (1 << (number % 16)));
  const whole = text.slice(0, at) + changed + text.slice(at + 1);
  return Buffer.from(whole, 'utf8').toString('utf8') === whole ? whole : null;
}

test('a signed request always verifies by node:crypto, and never with one bit of timestamp, partner or signature changed', async () => {
  const property = fc.asyncProperty(
    ...([
      schemes,
      partnerIds,
      fc.constantFrom(...operations),
      formats,
      formats,
      fc.nat({ max: 2 ** 40 }),
      fc.nat(),
    ] as const),
    async ({ signer, verifies }, partner, { call, answer }, timestampFormat, jobTimestampFormat, at, number) => {
      const wire = { timestampFormat, jobTimestampFormat };
      const clock = { now: () => at, sleep: () => new Promise<void>(() => undefined) };
      const { client, sent } = clientOf(answer(), { signer, partnerId: partner, wire, clock, maxRetries: 0 });
      await Promise.allSettled([call(client)]);
      const body = sent[0]?.body ?? {};
      const timestamp = String(body.timestamp);
      const signature = String(body.signature ?? body.sec_key);
      const bytes = Buffer.from(signature, 'base64');
      const isTrusted = async (text: string, input: { timestamp: string; partnerId: string }) => {
        const ours = await signer.verify(text, input);
        const theirs = verifies(Buffer.from(text, 'base64'), `${input.timestamp}${input.partnerId}sid_request`);
        return [ours, theirs];
      };

      expect(body.partner_id).toBe(partner);
      expect(await isTrusted(signature, { timestamp, partnerId: partner })).toEqual([true, true]);

      const otherTimestamp = withBitChanged(timestamp, number);
      const otherPartner = withBitChanged(partner, number);
      const otherBytes = Buffer.from(bytes);
      const spot = Math.floor(number / 8) % bytes.length;
      otherBytes[spot] = (bytes[spot] ?? 0) ^ (1 << (number % 8));
      const otherSignature = otherBytes.toString('base64');
      if (otherTimestamp !== null) {
        expect(await isTrusted(signature, { timestamp: otherTimestamp, partnerId: partner })).toEqual([false, false]);
      }
      if (otherPartner !== null) {
        expect(await isTrusted(signature, { timestamp, partnerId: otherPartner })).toEqual([false, false]);
      }
      expect(await isTrusted(otherSignature, { timestamp, partnerId: partner })).toEqual([false, false]);
      const otherText = withBitChanged(signature, number);
      if (otherText !== null) expect(await signer.verify(otherText, { timestamp, partnerId: partner })).toBe(false);
    },
  );

  await fc.assert(property, runs(250));
}, 60_000);

test('a signed job status is trusted, and never with one bit of timestamp, partner or signature changed', async () => {
  const property = fc.asyncProperty(fc.nat(), fc.constantFrom('sec_key', 'signature'), async (number, member) => {
    const answer = signed({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' }, { member });
    const changed = (name: string) => ({ ...answer, [name]: withBitChanged(String(answer[name]), number) ?? 'x' });
    const ask = (reply: object, partner = partnerId) =>
      clientOf(reply, { maxRetries: 0, partnerId: partner }).client.jobs.status({ userId: 'user-1', jobId: 'job-1' });

    const status = await ask(answer);
    const errors = [
      await rejection(ask(changed('timestamp'))),
      await rejection(ask(changed(member))),
      await rejection(ask({ ...changed(member), sec_key: answer[member], signature: changed(member)[member] })),
      await rejection(ask(answer, withBitChanged(partnerId, number)?.replace(/[^!-~]/, '_') ?? '086')),
    ];

    expect(status.state).toBe('succeeded');
    for (const error of errors) expect(error).toBeInstanceOf(HostedSignatureError);
  });

  await fc.assert(property, runs(250));
}, 60_000);
