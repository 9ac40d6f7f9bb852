/** The examples that sign by other means, each against a service that checks what they sign. */

import { constants, createHash, createHmac, generateKeyPairSync, privateDecrypt, privateEncrypt } from 'node:crypto';
import { HostedClient, type JobRef, type Signer } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { beforeEach, expect, test, vi } from 'vitest';

const service = createMockService();
const { sandbox } = service;
const apiKey = sandbox.clientOptions.apiKey ?? '';
const printed: string[] = [];
let job: JobRef;

beforeEach(() => {
  service.reset();
  job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  vi.stubEnv('HOSTED_PARTNER_ID', sandbox.clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', apiKey);
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', sandbox.baseUrl);
  vi.stubEnv('USER_ID', job.userId);
  vi.stubEnv('JOB_ID', job.jobId);
  vi.stubGlobal('fetch', service.fetch);
  printed.length = 0;
  for (const level of ['log', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((text: string) => {
      printed.push(text);
    });
  }
  return () => vi.unstubAllGlobals();
});

test('the rotation example signs with the new key, and trusts callbacks signed with the old one', async () => {
  vi.stubEnv('HOSTED_PREVIOUS_API_KEY', 'the-old-key');

  const { POST } = await import('../../examples/rotate-keys.ts');
  const other = sandbox.jobs.start();
  sandbox.jobs.complete(other, 'approved');
  const answers = [
    await POST(await signedWith('the-old-key')),
    await sandbox.jobs.deliverCallback(other, { to: POST }),
    await POST(await signedWith('somebody-elses-key')),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 401]);
  expect(printed).toEqual([
    'signed with the first of 2 keys: 0 links',
    expect.stringMatching(/^change [0-9a-f]{64}: the job is succeeded$/),
    expect.stringMatching(/^change [0-9a-f]{64}: the job is succeeded$/),
  ]);
});

// A callback of another time, as a service signed it (docs/protocol.md §5) before the key was changed.
async function signedWith(key: string): Promise<Request> {
  const genuine = await sandbox.jobs.callback(job);
  const timestamp = new Date(Date.now() - 3_600_000).toISOString();
  const mac = createHmac('sha256', key).update(`${timestamp}${sandbox.clientOptions.partnerId}sid_request`);
  const members = { ...((await genuine.json()) as object), timestamp, signature: mac.digest('base64') };
  return new Request(genuine.url, { method: 'POST', body: JSON.stringify(members) });
}

const pair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const privateKey = { key: pair.privateKey, padding: constants.RSA_PKCS1_PADDING };

test('the legacy example speaks to a service that knows nothing but RSA', async () => {
  const legacy = await legacyExample();

  expect(printed).toEqual([expect.stringMatching(/^succeeded, signed 20\d\d-/)]);
  const client = new HostedClient({ ...sandbox.clientOptions, apiKey: undefined, signer: legacy } as never);
  await client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://example.test/privacy',
    callbackUrl: 'https://example.test/callbacks',
  });
  expect((await client.links.list()).links).toHaveLength(1);
});

test('the legacy example writes the hash of real payloads', async () => {
  const legacy = await legacyExample();
  const hash = async (partnerId: string, timestamp: string) =>
    (await legacy.sign({ partnerId, timestamp })).split('|')[1];

  expect(await hash('001', '1678216434434')).toBe('6f3dec6d6fad3cfe36fb62b38a185de1cd53088291082d6f20fddbf5ea0e4a0f');
  expect(await hash('125', '1570698930193')).toBe('8faebe00b317654548f8b739dc631431b67d2d4e6ab65c6d53539aaad1600ac7');
  expect(await hash('0125', '2019-10-10T12:32:04.622Z')).toBe(
    '1577b051a4313ed5e3e4d29893a66f966e31af0a2d2f6bec2a7f2e00f2701259',
  );
});

test('the legacy example trusts the private key alone', async () => {
  const legacy = await legacyExample();
  const input = { partnerId: '001', timestamp: '1678216434434' };
  const hash = '6f3dec6d6fad3cfe36fb62b38a185de1cd53088291082d6f20fddbf5ea0e4a0f';
  const signed = (text: string) => privateEncrypt(privateKey, Buffer.from(text)).toString('base64');
  const genuine = `${signed(hash)}|${hash}`;
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const forged = privateEncrypt({ ...privateKey, key: foreign }, Buffer.from(hash)).toString('base64');

  expect(await legacy.verify(genuine, input)).toBe(true);
  for (const signature of [
    hash,
    `|${hash}`,
    `${hash}|${hash}`,
    `${forged}|${hash}`,
    `${signed(hash.toUpperCase())}|${hash}`,
    `${signed(hash)}|`,
    `${signed(hash)}|${hash.toUpperCase()}`,
    `${genuine}|`,
    `${genuine} `,
    ` ${genuine}`,
    signed(hash),
    genuine.replace('=', ''),
    await legacy.sign(input),
    '',
    '|',
  ]) {
    expect(await legacy.verify(signature, input), signature).toBe(false);
  }
  expect(await legacy.verify(genuine, { ...input, timestamp: '1678216434435' })).toBe(false);
});

async function legacyExample(): Promise<Signer> {
  vi.stubEnv('HOSTED_LEGACY_PUBLIC_KEY', pair.publicKey);
  vi.stubGlobal('fetch', legacyService);
  const { legacySecKey } = await importAnew<typeof import('../../examples/legacy-signer.ts')>('legacy-signer');
  return legacySecKey({ servicePublicKey: pair.publicKey });
}

// The mock service behind a door that takes and gives the legacy scheme alone.
const legacyService: typeof fetch = async (url, init) => {
  const { sec_key, signature, ...asked } = JSON.parse(String(init?.body));
  const [encrypted, hash] = String(sec_key ?? signature).split('|');
  const decrypted = privateDecrypt(privateKey, Buffer.from(encrypted ?? '', 'base64')).toString();
  if (decrypted !== hash) return Response.json({ error: 'wrong signature', code: '2205' }, { status: 400 });

  const timestamp = new Date(asked.timestamp).toISOString();
  const mac = macOf(`${timestamp}${asked.partner_id}sid_request`);
  const body = JSON.stringify({ ...asked, timestamp, [sec_key ? 'sec_key' : 'signature']: mac });
  const answer = await service.fetch(url, { ...init, body });
  const { sec_key: _, ...members } = await answer.json();
  if (members.timestamp === undefined) return Response.json(members, { status: answer.status });
  const answerHash = createHash('sha256').update(`85:${members.timestamp}`).digest('hex');
  const signed = privateEncrypt(privateKey, Buffer.from(answerHash)).toString('base64');
  return Response.json({ ...members, signature: `${signed}|${answerHash}` });
};

function macOf(text: string): string {
  return createHmac('sha256', apiKey).update(text).digest('base64');
}

test('the key service example holds no key, and is trusted', async () => {
  const asked = withKeyService((text) => new Response(macOf(text)));

  await importAnew('key-service-signer');

  expect(printed).toEqual(['signed and verified elsewhere: succeeded']);
  expect(asked).toHaveLength(2);
});

test.each([
  ['responds with an error', () => new Response(apiKey, { status: 500 })],
  ['responds with no MAC', () => new Response(apiKey)],
  ['cannot be reached', () => Promise.reject(new TypeError('fetch failed'))],
])('the key service example sends nothing when the key service %s', async (_how, answer) => {
  withKeyService(answer);

  await importAnew('key-service-signer');

  expect(printed.at(-1)).toMatch(/^HostedConfigError: .*must return a non-empty string from sign\(\), but did not/);
  expect(printed[0]).toMatch(/^No MAC from the key service: /);
  expect(printed.join()).not.toContain(apiKey);
  expect(sandbox.requests).toEqual([]);
});

test('the key service example gives up on a key service that does not respond', async () => {
  withKeyService(
    (_text, signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  );
  vi.stubEnv('KEY_SERVICE_TIMEOUT_MS', '1');

  const { keyServiceSigner } =
    await importAnew<typeof import('../../examples/key-service-signer.ts')>('key-service-signer');

  expect(printed.at(-1)).toMatch(/^HostedConfigError/);
  const clock = createTestClock();
  const { apiKey: _, ...options } = sandbox.clientOptions;
  const signer = keyServiceSigner({ url: 'https://keys.test/mac', token: 'token', timeoutMs: 60_000 });
  const call = new HostedClient({ ...options, signer, clock, timeoutMs: 5_000, maxRetries: 0 }).links.list();
  const ended = expect(call).rejects.toMatchObject({ code: 'timeout', phase: 'attempt', outcome: 'not_sent' });
  await clock.advance(5_000);
  await ended;
  expect(sandbox.requests).toEqual([]);
});

// Answers for the key service's address; what is asked of it is returned.
function withKeyService(answer: (text: string, signal?: AbortSignal | null) => Response | Promise<Response>): string[] {
  const asked: string[] = [];
  vi.stubEnv('HOSTED_API_KEY', undefined);
  vi.stubEnv('KEY_SERVICE_URL', 'https://keys.test/mac');
  vi.stubEnv('KEY_SERVICE_TOKEN', 'token');
  vi.stubGlobal('fetch', (async (url, init) => {
    if (url !== 'https://keys.test/mac') return service.fetch(url, init);
    expect(new Headers(init?.headers).get('authorization')).toBe('Bearer token');
    asked.push(String(init?.body));
    return answer(String(init?.body), init?.signal);
  }) as typeof fetch);
  return asked;
}

// A module runs once in a process: without what is known of it, it runs again as in another.
function importAnew<Example>(name: string): Promise<Example> {
  vi.resetModules();
  return import(`../../examples/${name}.ts`) as Promise<Example>;
}
