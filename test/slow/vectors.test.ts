// Public vectors, read from the folder that VECTORS_DIR names: every file of it has its tests here.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HostedError, HostedResponseError, type NewLink } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, newLink, signed } from '../support/fake-fetch.js';
import { vectors } from '../support/needed.js';

const folder = vectors ?? '';
const vectorTest = (name: string, run: () => void | Promise<void>) => test(name, { tags: ['vectors'] }, run);

const textOf = (file: string) => readFileSync(join(folder, file), 'utf8');
const jsonOf = <T>(file: string) => JSON.parse(textOf(file)) as T;
const linesOf = <T>(file: string) =>
  textOf(file)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const base64Of = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
const latin1Of = (hex: string) => Buffer.from(hex, 'hex').toString('latin1');

/** How many vectors were gone through, and which of them went wrong. */
async function score<T>(
  vectors: readonly T[],
  isRight: (vector: T, index: number) => Promise<boolean> | boolean,
  nameOf: (vector: T) => string,
) {
  const wrong: string[] = [];
  for (const [index, vector] of vectors.entries()) if (!(await isRight(vector, index))) wrong.push(nameOf(vector));
  return { seen: vectors.length, wrong };
}

/** That there are so many vectors, and that none goes wrong. */
async function expectAllRight<T>(count: number, ...given: Parameters<typeof score<T>>) {
  expect(await score(...given)).toEqual({ seen: count, wrong: [] });
}

vectorTest('the folder has no file that these tests do not know', () => {
  // The verdicts of the last three are in ed25519_strict_expected.jsonl.
  expect(readdirSync(folder).sort()).toEqual(
    [
      ...['README.md', 'blns.json', 'ed25519_crypto_sign_input.txt', 'ed25519_strict_expected.jsonl'],
      ...['json_test_suite.jsonl', 'rfc4231_hmac_sha256.json', 'rfc8032_ed25519.json'],
      'wycheproof_hmac_sha256_test.json',
      ...['ed25519_taming_edge_cases.json', 'ed25519_zip215.json', 'wycheproof_ed25519_test.json'],
    ].sort(),
  );
});

// Signatures ----------------------------------------------------------------

/**
 * The signers over bytes: keys and messages of vectors are no UTF-8, and a `Signer` takes texts. Under
 * an encoder that makes one byte of one character the same code signs and verifies any bytes; keys
 * with line ends and blank ones, which are refused otherwise, are let through.
 */
async function byteSigners() {
  vi.resetModules();
  vi.stubGlobal(
    'TextEncoder',
    class {
      encode(text = '') {
        return Uint8Array.from(Buffer.from(text, 'latin1'));
      }
      encodeInto(text: string, into: Uint8Array) {
        into.set(this.encode(text));
        return { read: text.length, written: text.length };
      }
    },
  );
  vi.doMock('../../src/signing/keys.js', async (original) => ({
    ...(await original<typeof import('../../src/signing/keys.js')>()),
    findApiKeyIssues: () => [],
  }));
  // Node encodes the text of an HMAC itself.
  vi.doMock('../../src/runtime/node-crypto.js', async (original) => {
    const { platformCrypto } = await original<typeof import('../../src/runtime/node-crypto.js')>();
    const crypto = platformCrypto();
    const createHmac = (algorithm: 'sha256', key: never) => ({
      update: (text: string) => crypto?.createHmac(algorithm, key).update(Buffer.from(text, 'latin1')),
    });
    return {
      platformCrypto: () =>
        crypto && new Proxy(crypto, { get: (of, name: never) => (name === 'createHmac' ? createHmac : of[name]) }),
    };
  });
  const { ed25519: ofBytes } = await import('../../src/signing/ed25519.js');
  const { hmacSha256: macOfBytes } = await import('../../src/signing/hmac-sha256.js');
  return { ed25519: ofBytes, hmacSha256: macOfBytes };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.doUnmock('../../src/signing/keys.js');
  vi.doUnmock('../../src/runtime/node-crypto.js');
  vi.resetModules();
});

/** An Ed25519 vector with its one expected verdict. */
interface Verdict {
  readonly id: string;
  readonly pk: string;
  readonly msg: string;
  readonly sig: string;
  readonly valid: boolean;
}

const ownSeed = new Uint8Array(32).fill(7);

vectorTest('ed25519() gives the strict verdict on every vector, its message read byte for byte', async () => {
  const signers = await byteSigners();

  await expectAllRight(
    1388,
    linesOf<Verdict>('ed25519_strict_expected.jsonl'),
    async ({ pk, msg, sig, valid }) => {
      const signer = signers.ed25519({ secretKey: ownSeed, servicePublicKey: bytesOf(pk), context: '' });
      return (await signer.verify(base64Of(sig), { timestamp: latin1Of(msg), partnerId: '' })) === valid;
    },
    ({ id }) => id,
  );
});

vectorTest('ed25519() signs the 1,024 messages of ed25519.cr.yp.to as they are signed there', async () => {
  const signers = await byteSigners();
  const lines = textOf('ed25519_crypto_sign_input.txt').trim().split('\n');

  await expectAllRight(
    1024,
    lines.map((line) => line.split(':')),
    async ([secret = '', publicKey = '', message = '', signedMessage = '']) => {
      const options = { secretKey: bytesOf(secret), servicePublicKey: bytesOf(publicKey), context: '' };
      const signature = await signers.ed25519(options).sign({ timestamp: latin1Of(message), partnerId: '' });
      return signature === base64Of(signedMessage.slice(0, 128)) && signedMessage.slice(128) === message;
    },
    ([, publicKey]) => String(publicKey),
  );
});

interface Rfc8032 {
  readonly tests: readonly { name: string; sk: string; pk: string; msg: string; sig: string }[];
}

vectorTest('ed25519() gives the known answers of all five tests of RFC 8032 §7.1', async () => {
  const signers = await byteSigners();
  const { tests } = jsonOf<Rfc8032>('rfc8032_ed25519.json');

  await expectAllRight(
    5,
    tests,
    async ({ sk, pk, msg, sig }) => {
      const input = { timestamp: latin1Of(msg), partnerId: '' };
      const signer = signers.ed25519({ secretKey: bytesOf(sk), servicePublicKey: bytesOf(pk), context: '' });
      return (await signer.sign(input)) === base64Of(sig) && (await signer.verify(base64Of(sig), input));
    },
    ({ name }) => name,
  );
});

interface Rfc4231 {
  readonly tests: readonly { case: number; key: string; msg: string; mac: string; truncated: boolean }[];
}

vectorTest('hmacSha256() gives the known answers of all seven cases of RFC 4231, read byte for byte', async () => {
  const signers = await byteSigners();
  const { tests } = jsonOf<Rfc4231>('rfc4231_hmac_sha256.json');

  await expectAllRight(
    7,
    tests,
    async ({ key, msg, mac, truncated }) => {
      const input = { timestamp: latin1Of(msg), partnerId: '' };
      const signer = signers.hmacSha256({ apiKey: latin1Of(key), context: '' });
      const signature = Buffer.from(await signer.sign(input), 'base64').toString('hex');
      const trusted = await signer.verify(base64Of(mac), input);
      // A code that is cut short is refused, however right its beginning.
      return truncated ? signature.startsWith(mac) && !trusted : signature === mac && trusted;
    },
    ({ case: number }) => `case ${number}`,
  );
});

interface WycheproofHmac {
  readonly testGroups: readonly {
    readonly tagSize: number;
    readonly tests: readonly { tcId: number; key: string; msg: string; tag: string; result: 'valid' | 'invalid' }[];
  }[];
}

vectorTest(
  'hmacSha256() gives the verdict of Wycheproof on every whole tag, and refuses every tag cut short',
  async () => {
    const signers = await byteSigners();
    const vectors = jsonOf<WycheproofHmac>('wycheproof_hmac_sha256_test.json').testGroups.flatMap(
      ({ tagSize, tests }) => tests.map((vector) => ({ ...vector, whole: tagSize === 256 })),
    );

    await expectAllRight(
      174,
      vectors,
      async ({ key, msg, tag, result, whole }) => {
        const input = { timestamp: latin1Of(msg), partnerId: '' };
        const signer = signers.hmacSha256({ apiKey: latin1Of(key), context: '' });
        const signature = Buffer.from(await signer.sign(input), 'base64').toString('hex');
        const trusted = await signer.verify(base64Of(tag), input);
        const valid = result === 'valid';
        return signature.startsWith(tag) === valid && trusted === (valid && whole);
      },
      ({ tcId }) => `tc${tcId}`,
    );
  },
);

// JSON ----------------------------------------------------------------------

interface JsonText {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const jsonTexts = (kind = ''): readonly JsonText[] =>
  linesOf<{ name: string; base64: string }>('json_test_suite.jsonl')
    .filter(({ name }) => name.startsWith(kind))
    .map(({ name, base64 }) => ({ name, bytes: Uint8Array.from(Buffer.from(base64, 'base64')) }));

const job = { userId: 'user-1', jobId: 'job-1' };
const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };

/** What comes of bytes as the answer to reading a link, and to asking for a job. */
async function bothOver(bytes: Uint8Array<ArrayBuffer>): Promise<readonly unknown[]> {
  const { client } = clientOf(() => new Response(bytes, { headers: { 'content-type': 'application/json' } }), {
    maxRetries: 0,
  });
  const settled = await Promise.allSettled([client.links.get('ref-1'), client.jobs.status(job)]);
  return settled.map((end) => (end.status === 'fulfilled' ? end.value : end.reason));
}

const isMalformed = (end: unknown) => end instanceof HostedResponseError && end.reason === 'malformed';

vectorTest('every text of JSONTestSuite as a response gives a HostedError, malformed where it is no JSON', async () => {
  await expectAllRight(
    340,
    jsonTexts(),
    async ({ name, bytes }) => {
      const ends = await bothOver(bytes);
      const isJson = /^test_parsing\/([yn])_/.exec(name)?.[1];
      const isRight = isJson === undefined || ends.every((end) => isMalformed(end) === (isJson === 'n'));
      return isRight && ends.every((end) => end instanceof HostedError);
    },
    ({ name }) => name,
  );
});

vectorTest('every value of JSONTestSuite in an unknown field of a link and a result comes as it is', async () => {
  const inMember = (record: object, path: string, text: Uint8Array) => {
    const [before = '', after = ''] = JSON.stringify(record).split(`"${path}"`);
    return Uint8Array.from(Buffer.concat([Buffer.from(before), text, Buffer.from(after)]));
  };
  const linkAround = (text: Uint8Array) => inMember({ ...link, unknown: '~here~' }, '~here~', text);
  const jobAround = (text: Uint8Array) => {
    const result = { ResultText: 'Enroll User', unknown: '~here~' };
    return inMember(
      signed({ job_complete: true, job_success: true, user_id: job.userId, job_id: job.jobId, result }),
      '~here~',
      text,
    );
  };

  await expectAllRight(
    95,
    jsonTexts('test_parsing/y_'),
    async ({ bytes }) => {
      const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
      const [read] = await bothOver(linkAround(bytes));
      const [, status] = await bothOver(jobAround(bytes));
      expect(read).toMatchObject({ refId: 'ref-1', extra: { unknown: value } });
      expect(status).toMatchObject({ state: 'succeeded', result: { extra: { unknown: value } } });
      return true;
    },
    ({ name }) => name,
  );
});

// Naughty strings -----------------------------------------------------------

/** A test of each of the 515 naughty strings. */
const naughtyTest = (name: string, isRight: (text: string, index: number) => Promise<boolean>) =>
  vectorTest(name, () => expectAllRight(515, jsonOf<readonly string[]>('blns.json'), isRight, String));

const created = { link: 'https://links.hosted.test/1', ref_id: 'ref-1' };

/** What was sent, its text taken through bytes; null where nothing was. */
function bodyOf(sent: readonly { readonly init: RequestInit }[]): Record<string, unknown> | null {
  const [request] = sent;
  if (request === undefined) return null;
  const bytes = new TextEncoder().encode(String(request.init.body));
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Record<string, unknown>;
}

/** Creates a link, and says what was sent of it or what was wrong. */
async function creating(members: Partial<NewLink>) {
  const { client, sent } = clientOf(created);
  const [end] = await Promise.allSettled([client.links.create({ ...newLink, ...members })]);
  return { body: bodyOf(sent), error: end.status === 'rejected' ? (end.reason as unknown) : null };
}

const sameBytes = (sent: unknown, text: string) =>
  typeof sent === 'string' && Buffer.from(sent).equals(Buffer.from(text)) && sent === text;

naughtyTest('a naughty string as name, ID type or extra field is sent byte for byte', async (text) => {
  const idTypes: NewLink['idTypes'] = [{ country: 'NG', idType: text, verificationMethod: 'enhanced_kyc' }];
  const extra = { note: text, nested: [{ [text]: text }], [`x${text}`]: text };
  const { body } = await creating({ name: text, idTypes, extra });
  const [sentType] = (body?.id_types ?? []) as readonly { id_type: string }[];
  const [nested] = (body?.nested ?? []) as readonly Record<string, unknown>[];
  const all = [body?.name, sentType?.id_type, body?.note, nested?.[text], body?.[`x${text}`]];
  return all.every((member) => sameBytes(member, text));
});

naughtyTest('a naughty string as the ids of a job is asked for byte for byte, unless it is blank', async (text) => {
  const { client, sent } = clientOf(() => Response.json(signed({ job_complete: false, user_id: text })));
  const [end] = await Promise.allSettled([client.jobs.status({ userId: text, jobId: text })]);
  const body = bodyOf(sent);
  if (text.trim() === '') return body === null && end.status === 'rejected';
  if (end.status === 'rejected') return false;
  const { userId, jobId } = end.value;
  return [body?.user_id, body?.job_id, userId, jobId].every((id) => sameBytes(id, text));
});

naughtyTest('a naughty string in the text fields of a response comes byte for byte', async (text) => {
  const idType = { country: 'NG', id_type: text, verification_method: text };
  const ofLink = { ...link, name: text, company_name: text, user_id: text, id_types: [idType], [`x${text}`]: text };
  const entry = { ResultText: text, FullName: text, Actions: { [`x${text}`]: text }, [`x${text}`]: text };
  const ofJob = signed({
    job_complete: true,
    job_success: 'true',
    user_id: job.userId,
    job_id: job.jobId,
    result: entry,
    history: [entry],
  });
  const { client: forLink } = clientOf(ofLink);
  const { client: forJob } = clientOf(ofJob);

  const read = await forLink.links.get('ref-1');
  const { result, history } = await forJob.jobs.status(job);

  expect(read.userIds).toEqual(text === '' ? [] : [text]);
  const texts = [
    read.name,
    read.companyName,
    read.idTypes[0]?.idType,
    read.idTypes[0]?.verificationMethod,
    read.extra[`x${text}`],
    result?.resultText,
    result?.actions[`x${text}`],
    result?.extra[`x${text}`],
    history?.[0]?.identity?.fullName,
  ];
  // An empty string means nothing.
  return texts.every((member) => sameBytes(member ?? '', text));
});
