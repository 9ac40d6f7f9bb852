// What only a platform can break: its cryptography, timers, streams, loading and fetch. One file that runs unchanged on each
// runtime, against the testing kit in memory, and against a server on loopback by the runtime's own fetch.

import {
  ed25519,
  HostedApiError,
  HostedAuthenticationError,
  HostedClient,
  HostedConfigError,
  HostedConnectionError,
  HostedNotFoundError,
  HostedResponseError,
  HostedTimeoutError,
  hmacSha256,
} from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';

// Checking ------------------------------------------------------------------

/** Fails unless `actual` is as `expected` says: objects by the members named, lists by all of theirs. */
function expectLike(actual, expected, what = 'It') {
  const found = difference(actual, expected, what);
  if (found !== null) throw new Error(found);
}

function difference(actual, expected, path) {
  if (typeof expected === 'function') {
    return actual instanceof expected ? null : `${path} is no ${expected.name}: ${String(actual)}`;
  }
  if (expected instanceof Date) return difference(actual?.toISOString?.(), expected.toISOString(), path);
  if (typeof expected !== 'object' || expected === null) {
    return Object.is(actual, expected) ? null : `${path} must be ${String(expected)}, got ${String(actual)}`;
  }
  if (typeof actual !== 'object' || actual === null) return `${path} must be an object, got ${String(actual)}`;
  if (Array.isArray(expected) && actual.length !== expected.length) {
    return `${path} must have ${expected.length} entries, got ${actual.length}`;
  }
  for (const [name, value] of Object.entries(expected)) {
    const found = difference(actual[name], value, `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

/** What a promise rejects with. Attached at once, so that nothing goes unhandled meanwhile. */
function rejection(promise) {
  return promise.then(
    () => {
      throw new Error('It must reject, and resolves');
    },
    (error) => error,
  );
}

/** What a function throws. */
function thrownBy(act) {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('It must throw, and returns');
}

async function listOf(iterable) {
  const entries = [];
  for await (const entry of iterable) entries.push(entry);
  return entries;
}

// What is there to begin with -----------------------------------------------

const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: 'https://partner.example/callbacks',
  idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
};

/** A service in memory and a client of its sandbox, both on a clock that moves only when told. */
function start(serviceOptions = {}, clientOptions = {}) {
  const clock = createTestClock();
  const service = createMockService({ clock, ...serviceOptions });
  const { sandbox } = service;
  const client = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch, ...clientOptions });
  return { clock, service, sandbox, client };
}

/** Known signatures: `base64(HMAC-SHA256(key, timestamp + partner + "sid_request"))`, made elsewhere. */
const known = {
  apiKey: 'apikey',
  partnerId: 'partner',
  timestamp: '2023-03-09T21:35:00.279Z',
  signature: '+S/hVtmFwynoroXQQbjOQ3/l+a5zshNldrQh/iBdxRQ=',
};
const knownWithZeros = {
  apiKey: 'test-key',
  partnerId: '085',
  timestamp: '2026-01-02T03:04:05.678Z',
  signature: '7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8=',
};

/** RFC 8032 §7.1, TEST 1 (no message) and TEST 2 (the message 0x72, "r"). */
const rfc8032 = [
  {
    message: '',
    seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    message: 'r',
    seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
];

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => Number.parseInt(pair, 16));
const base64Of = (bytes) => btoa(String.fromCharCode(...bytes));

// Made while the module loads, where some runtimes allow neither chance, timers nor cryptography.
const early = start();

// Signing -------------------------------------------------------------------

/** @type {{ name: string, run: (surroundings: Surroundings) => unknown }[]} */
export const contracts = [];

/** Adds a contract. */
function contract(name, run) {
  contracts.push({ name, run });
}

contract('hmacSha256() makes and verifies the known signatures', async () => {
  for (const { apiKey, signature, ...input } of [known, knownWithZeros]) {
    const signer = hmacSha256({ apiKey });
    expectLike(await signer.sign(input), signature, 'sign()');
    expectLike(await signer.verify(signature, input), true, 'verify()');
  }
});

contract('hmacSha256() refuses whatever is not the signature, and never throws', async () => {
  const { apiKey, signature, ...input } = known;
  const signer = hmacSha256({ apiKey });
  const bare = '6f3dec6d6fad3cfe36fb62b38a185de1cd53088291082d6f20fddbf5ea0e4a0f';
  const others = [`-${signature.slice(1)}`, `${signature} `, signature.toLowerCase(), '', '=', bare, null, 7, {}];
  for (const other of others) expectLike(await signer.verify(other, input), false, `verify(${String(other)})`);
  expectLike(await signer.verify(signature, { ...input, partnerId: 'partner2' }), false, 'another partner');
  expectLike(await signer.verify(signature, { ...input, timestamp: '2023-03-09T21:35:00.280Z' }), false, 'later');
});

contract('ed25519() makes and verifies the signatures of RFC 8032', async () => {
  for (const { message, seed, publicKey, signature } of rfc8032) {
    const servicePublicKey = base64Of(bytesOf(publicKey));
    const signer = ed25519({ secretKey: base64Of(bytesOf(seed)), servicePublicKey, context: '' });
    const input = { timestamp: message, partnerId: '' };
    expectLike(await signer.sign(input), base64Of(bytesOf(signature)), 'sign()');
    expectLike(await signer.verify(base64Of(bytesOf(signature)), input), true, 'verify()');
  }
});

contract('ed25519() refuses what was tampered with, and never throws', async () => {
  const [{ seed, publicKey, signature }] = rfc8032;
  const signer = ed25519({ secretKey: bytesOf(seed), servicePublicKey: bytesOf(publicKey), context: '' });
  const input = { timestamp: '', partnerId: '' };
  const tampered = bytesOf(signature).with(0, 0xe4);
  const others = [base64Of(tampered), base64Of(new Uint8Array(64)), '', 'no'];
  for (const other of others) expectLike(await signer.verify(other, input), false, `verify(${other})`);
  expectLike(await signer.verify(base64Of(bytesOf(signature)), { ...input, partnerId: '1' }), false, 'another partner');
});

// Clients -------------------------------------------------------------------

contract('a client made while a module loads serves later calls, many at once', async () => {
  const created = await Promise.all(Array.from({ length: 20 }, () => early.client.links.create(newLink)));
  expectLike(new Set(created.map(({ refId }) => refId)).size, 20, 'the links');
});

contract('waitForCompletion() polls on the test clock until the job is over', async () => {
  const { clock, sandbox, client } = start();
  const job = sandbox.jobs.start();
  const polls = [];
  const completed = client.jobs.waitForCompletion(job, {
    jitter: false,
    onPoll: ({ elapsedMs }) => polls.push(elapsedMs),
  });
  await clock.advance(4_000);
  sandbox.jobs.complete(job, 'rejected');
  await clock.advance(60_000);
  expectLike(await completed, { state: 'failed', complete: true, success: false }, 'the status');
  expectLike(polls, [0, 2_000, 5_000], 'the polls');
});

contract('HostedClient.fromEnv() names the variables that are missing', () => {
  const error = thrownBy(() => HostedClient.fromEnv());
  expectLike(error, HostedConfigError);
  const missing = ['HOSTED_API_KEY', 'HOSTED_PARTNER_ID', 'HOSTED_SANDBOX_BASE_URL'];
  expectLike(error.issues.map(({ path }) => path).sort(), missing, 'the issues');
});

// Callbacks -----------------------------------------------------------------

/** A completed job of a link, and a handler that keeps what it is given. */
async function receiving(options = {}) {
  const world = start();
  const { refId } = await world.client.links.create(newLink);
  const job = world.sandbox.jobs.start({ linkRefId: refId });
  world.sandbox.jobs.complete(job, 'approved');
  const handled = [];
  const onEvent = (event, status) => void handled.push({ event, status });
  const to = world.client.callbacks.handler({ onEvent, ...options });
  const deliver = async (more = {}) => (await world.sandbox.jobs.deliverCallback(job, { to, ...more })).status;
  return { ...world, refId, job, handled, to, deliver };
}

contract('a handler answers 200 to a genuine callback of 1.5 MB, and hands over the status', async () => {
  const { deliver, handled, job } = await receiving();
  const padBytes = 1_500_000;
  expectLike(await deliver({ padBytes, variant: 'unsigned' }), 401, 'the answer to an unsigned one');
  expectLike(await deliver({ padBytes }), 200, 'the answer to a genuine one');
  expectLike(handled, [{ event: job, status: { ...job, state: 'succeeded' } }], 'what was handed over');
});

contract('a handler answers 405, 400 and 413 to what is no callback', async () => {
  const { to } = await receiving({ maxBytes: 2_000 });
  const post = (body) => new Request('https://partner.example/callbacks', { method: 'POST', body });
  expectLike((await to(new Request('https://partner.example/callbacks'))).status, 405, 'GET');
  expectLike((await to(post('no JSON'))).status, 400, 'no JSON');
  expectLike((await to(post('x'.repeat(3_000)))).status, 413, 'too large');
});

// On the wire ---------------------------------------------------------------

/**
 * Where the suite runs.
 * @typedef {object} Surroundings
 * @property {string} origin A server that answers with the testing kit, and spoils what it is asked to.
 * @property {string} refusing An address of loopback that nobody listens on.
 * @property {{ partnerId: string, apiKey: string }} account What its service knows.
 * @property {Record<string, string>} failing Servers of TLS, by what fails, each as `host:port`.
 * @property {string[]} tells For which reasons the runtime's errors say that a request did not leave.
 */

/** Back-off ends at once, and a time limit is never reached: so no contract depends on speed. */
const hastyClock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (ms < 20_000) resolve();
      else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    }),
};

let keys = 0;

/** A client of the server by the platform's own fetch; what it sends meets this fault. */
function onWire({ origin, account }, fault, options = {}) {
  const key = `key-${++keys}`;
  const ask = async (what) => (await fetch(`${origin}/${what}/${key}`)).json();
  const client = new HostedClient({
    ...account,
    baseUrls: { sandbox: `${origin}/${fault}/${key}` },
    clock: hastyClock,
    ...options,
  });
  return {
    client,
    /** How many requests have arrived. */
    seen: () => ask('seen'),
    /** Resolves once a request's connection was closed by the other side. */
    gone: () => ask('gone'),
  };
}

contract('on the wire: create, get, update, list and job status work', async (surroundings) => {
  const { client } = onWire(surroundings, 'service');
  const { refId } = await client.links.create({ ...newLink, name: 'Žluťoučký 验证 🪪' });
  expectLike(await client.links.get(refId), { name: 'Žluťoučký 验证 🪪', state: 'active' }, 'the link');
  expectLike(await client.links.disable(refId), { state: 'disabled' }, 'the disabled link');
  const links = await listOf(client.links.list({ prefetch: 2 }));
  expectLike(links.filter((link) => link.refId === refId).length, 1, 'the list');
  expectLike(await rejection(client.jobs.status({ userId: 'nobody', jobId: 'nothing' })), HostedNotFoundError);
});

contract('on the wire: 40 calls at once are 40 answers', async (surroundings) => {
  const { client, seen } = onWire(surroundings, 'service');
  const { refId } = await client.links.create(newLink);
  const links = await Promise.all(Array.from({ length: 40 }, () => client.links.get(refId)));
  expectLike(new Set(links.map((link) => link.refId)).size, 1, 'the links');
  expectLike(await seen(), 41, 'the requests');
});

contract('on the wire: a compressed answer is read', async (surroundings) => {
  const { client } = onWire(surroundings, 'gzip');
  expectLike((await client.links.list()).meta, { currentPage: 1 }, 'the page');
});

/** Addresses to which no request can leave. */
const unreachable = [
  ['nobody listens', 'refused', ({ refusing }) => refusing],
  ['the name is unknown', 'no name', () => 'https://no-such-host.invalid'],
  ['the port speaks no TLS', 'no TLS', ({ origin }) => origin.replace('http:', 'https:')],
];

for (const [what, reason, originOf] of unreachable) {
  contract(`on the wire: when ${what}, create is repeated where it is known not to have left`, async (surroundings) => {
    const { account, tells } = surroundings;
    const baseUrls = { sandbox: originOf(surroundings) };
    const client = new HostedClient({ ...account, baseUrls, clock: hastyClock });
    const error = await rejection(client.links.create(newLink));
    expectLike(error, HostedConnectionError);
    const facts = tells.includes(reason)
      ? { outcome: 'not_sent', attempts: 3, retryable: true }
      : // Where nobody can tell, a second link is worse than none.
        { outcome: 'unknown', attempts: 1, retryable: false };
    expectLike(error, { code: 'connection', ...facts }, 'the error');
  });
}

/** Where a handshake fails before the request, and where the service may have the request. */
const certificates = ['for another host', 'expired', 'untrusted'];
const handshakes = [
  ...['no TLS', 'old TLS', 'no common cipher', 'no common protocol', 'a certificate required in TLS 1.2'],
  ...['handshake_failure', 'internal_error', 'unrecognized_name', 'no record of TLS'],
];
const sessions = [
  ...['a certificate required in TLS 1.3', 'an alert after the request', 'plain text after the request'],
  ...['a reset after the request'],
];
const openings = ['a reset in the handshake', 'an end in the handshake'];

contract(
  'on the wire: a create that TLS fails is "not sent" only where no service has seen it',
  async (surroundings) => {
    const { origin, account, failing, tells } = surroundings;
    for (const fault of [...certificates, ...handshakes, ...sessions, ...openings]) {
      const baseUrls = { sandbox: `https://${failing[fault]}` };
      const client = new HostedClient({ ...account, baseUrls, clock: hastyClock, maxRetries: 1 });
      const seen = async () => (await fetch(`${origin}/failing/${encodeURIComponent(fault)}`)).json();
      const before = await seen();
      const error = await rejection(client.links.create(newLink));
      expectLike(error, HostedConnectionError);
      const told = [
        ...(tells.includes('certificate') ? certificates : []),
        ...(tells.includes('no TLS') ? handshakes : []),
      ];
      if (told.includes(fault)) expectLike(error.outcome, 'not_sent', `the outcome of "${fault}"`);
      if (sessions.includes(fault)) expectLike(error.outcome, 'unknown', `the outcome of "${fault}"`);
      expectLike(error.mayHaveActed, error.outcome === 'unknown', `what may have happened after "${fault}"`);
      if (error.outcome === 'not_sent') expectLike((await seen()) - before, 0, `the requests of "${fault}"`);
      else expectLike(error.attempts, 1, `the attempts of "${fault}"`);
    }
  },
);

contract('on the wire: a create is sent once, also where the service answers 421', async (surroundings) => {
  for (const fault of ['misdirected', 'unauthorized']) {
    const { client, seen } = onWire(surroundings, fault);
    const error = await rejection(client.links.create({ ...newLink, name: 'Žluťoučký' }));
    expectLike(error, fault === 'misdirected' ? HostedApiError : HostedAuthenticationError);
    expectLike(await seen(), 1, `the requests of "${fault}"`);
  }
});

for (const fault of ['reset', 'end', 'end-in-head', 'reset-in-body', 'end-in-body', 'not-gzip']) {
  contract(`on the wire: after "${fault}", create is unknown and was sent once`, async (surroundings) => {
    const { client, seen } = onWire(surroundings, fault);
    const error = await rejection(client.links.create(newLink));
    expectLike(error, HostedConnectionError);
    expectLike(error, { code: 'connection', outcome: 'unknown', attempts: 1, retryable: false }, 'the error');
    expectLike(await seen(), 1, 'the requests');
  });
}

contract('on the wire: on a connection that was used before, create is sent once too', async (surroundings) => {
  for (const fault of ['reset', 'end']) {
    const { client, seen } = onWire(surroundings, `${fault}-second`);
    await client.links.list();
    expectLike(await rejection(client.links.create(newLink)), HostedConnectionError);
    expectLike(await seen(), 2, `the requests of "${fault}"`);
  }
});

contract('on the wire: a create that was read by a server that went away is not "not sent"', async (surroundings) => {
  const { origin, account } = surroundings;
  const fading = await (await fetch(`${origin}/fading/`)).json();
  const client = new HostedClient({ ...account, baseUrls: { sandbox: fading }, clock: hastyClock });
  const error = await rejection(client.links.create(newLink));
  expectLike(error, HostedConnectionError);
  expectLike(error, { code: 'connection', outcome: 'unknown', attempts: 1, retryable: false }, 'the error');
});

contract('on the wire: a redirect is refused and not followed', async (surroundings) => {
  const { client, seen } = onWire(surroundings, 'redirect');
  const error = await rejection(client.links.create(newLink));
  expectLike(error, HostedResponseError);
  expectLike(error, { reason: 'redirect', attempts: 1 }, 'the error');
  expectLike(await seen(), 1, 'the requests');
});

contract('on the wire: an abort rejects with the very reason, and hangs up', async (surroundings) => {
  for (const fault of ['stall', 'stall-in-body']) {
    const { client, seen, gone } = onWire(surroundings, fault);
    const controller = new AbortController();
    const reason = new Error('enough');
    const failed = rejection(client.links.create(newLink, { signal: controller.signal }));
    while ((await seen()) === 0);
    controller.abort(reason);
    expectLike((await failed) === reason, true, `the reason, after "${fault}"`);
    expectLike(await gone(), true, 'the connection');
  }
});

contract('on the wire: a stall is ended by timeoutMs, on the clock that was given', async (surroundings) => {
  const clock = createTestClock();
  const { client, seen, gone } = onWire(surroundings, 'stall', { clock });
  const failed = rejection(client.links.create(newLink));
  while ((await seen()) === 0);
  await clock.advance(30_000);
  expectLike(await failed, HostedTimeoutError);
  expectLike(await failed, { phase: 'attempt', outcome: 'unknown', attempts: 1 }, 'the error');
  expectLike(await gone(), true, 'the connection');
});

contract('on the wire: an answer over maxResponseBytes is too large, and hung up on', async (surroundings) => {
  const { client, gone } = onWire(surroundings, 'endless', { maxResponseBytes: 100_000 });
  const error = await rejection(client.links.create(newLink));
  expectLike(error, HostedResponseError);
  expectLike(error, { reason: 'too_large', outcome: 'answered', attempts: 1 }, 'the error');
  expectLike(await gone(), true, 'the connection');
});

contract('on the wire: a callback is posted to its address', async (surroundings) => {
  const { sandbox, client } = start();
  const { refId } = await client.links.create({ ...newLink, callbackUrl: `${surroundings.origin}/echo/callbacks` });
  const job = sandbox.jobs.start({ linkRefId: refId });
  sandbox.jobs.complete(job, 'approved');
  const response = await sandbox.jobs.deliverCallback(job, { padBytes: 100_000 });
  const event = await client.callbacks.receive(await response.text());
  expectLike(event, { ...job, linkId: refId }, 'the event');
});

// Nothing left behind -------------------------------------------------------

/** What was rejected and nobody heard. */
const strays = [];

function watchStrays() {
  globalThis.addEventListener?.('unhandledrejection', (event) => {
    event.preventDefault();
    strays.push(event.reason);
  });
  globalThis.process?.on?.('unhandledRejection', (reason) => strays.push(reason));
}

/** Lets a few turns pass, for what is reported at the end of one. */
async function someTurns() {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

// The last one: it looks back on all the others.
contract('no rejection goes unhandled but one that the caller ignores', async () => {
  // Derived promises that nobody waits for, and pages that are asked for ahead, fail, and are dropped.
  const { service, sandbox } = start({ pageSize: 1 });
  let requests = 0;
  const fetch = (...given) => (++requests === 1 ? service.fetch(...given) : Promise.reject(new TypeError('down')));
  const client = new HostedClient({ ...sandbox.clientOptions, fetch, maxRetries: 0 });
  sandbox.links.seed(9);
  for await (const _link of client.links.list({ prefetch: 8 })) {
    await someTurns();
    break;
  }
  const call = client.links.get('no-such-link');
  await rejection(call);
  await rejection(call.withResponse());
  expectLike(requests > 2, true, 'whether pages were asked for ahead');
  await someTurns();
  const before = [...strays];
  const planted = new Error('planted');
  // By an async function: zone.js keeps the rejections of its own promises to itself.
  void (async () => {
    throw planted;
  })();
  await someTurns();
  expectLike(before.map(String), [], 'the unhandled rejections');
  expectLike(strays.includes(planted), true, 'whether they are seen');
});

/**
 * Runs the contracts one after another, all of them or those whose name begins with `named`.
 *
 * @param {Surroundings} surroundings
 * @returns One result a contract: its name, and what is wrong, or null.
 */
export async function runContracts(surroundings, named = '') {
  watchStrays();
  const results = [];
  for (const { name, run } of contracts.filter((each) => each.name.startsWith(named))) {
    let problem = null;
    try {
      await run(surroundings);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    results.push({ name, problem });
  }
  return results;
}
