// What a user relies on, whatever the runtime: one file that runs unchanged on each of them, against the
// testing kit in memory and, where it is told of one, against a server on loopback by the runtime's own fetch.

import {
  ed25519,
  HostedApiError,
  HostedAuthenticationError,
  HostedClient,
  HostedConfigError,
  HostedConnectionError,
  HostedError,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
  HostedValidationError,
  hmacSha256,
  isHostedError,
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

/** A client whose every request is answered with these bodies, in turn. */
function answeredWith(bodies, options) {
  let requests = 0;
  const fetch = async () => Response.json(bodies[Math.min(requests++, bodies.length - 1)]);
  return new HostedClient({ baseUrls: { sandbox: 'https://service.example' }, fetch, ...options });
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

/** The same signature with another S: S + L, which a strict verifier refuses (RFC 8032 §5.1.7). */
function withOtherS(hex) {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const littleEndian = (text) => text.match(/../g).toReversed().join('');
  const s = BigInt(`0x${littleEndian(hex.slice(64))}`) + order;
  return hex.slice(0, 64) + littleEndian(s.toString(16).padStart(64, '0'));
}

/** What the platform itself makes of the protocol's formula. */
async function platformHmac(apiKey, text) {
  const encode = (value) => new TextEncoder().encode(value);
  const key = await crypto.subtle.importKey('raw', encode(apiKey), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return base64Of(new Uint8Array(await crypto.subtle.sign('HMAC', key, encode(text))));
}

// A finished job as a deployment answered it; its signature is the known one.
const finishedJob = {
  signature: known.signature,
  timestamp: known.timestamp,
  job_complete: true,
  job_success: true,
  result: {
    ResultText: 'Enroll User',
    ResultType: 'SAIA',
    HostedJobID: '0000001897',
    JSONVersion: '1.0.0',
    IsFinalResult: 'true',
    PartnerParams: {
      job_id: '52d0de86-be3b-4219-9e96-8195b0018944',
      user_id: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650',
      job_type: 4,
    },
    ConfidenceValue: '100',
    IsMachineResult: 'true',
  },
  image_links: {
    selfie_image:
      'https://images.hosted.test/test/000000/023/023-0000001897-LoRSpxJUzmYgYS2R00XpaHJYLOiNXN/preview.jpg',
  },
  code: '2302',
  history: [
    {
      ResultCode: '0814',
      ResultText: 'Provisional Enroll - Under Review',
      HostedJobID: '0000000857',
      ConfidenceValue: '97.000000',
      PartnerParams: {
        job_id: '52d0de86-be3b-4219-9e96-8195b0018944',
        user_id: '1511bf02-801a-4b57-ac8e-ef17e26bfeb4',
        job_type: '1',
        optional_info: 'Partner can put whatever they want as long as it is a string',
      },
    },
    {
      DOB: '1990-01-01',
      IDType: 'BVN',
      Country: 'Nigeria',
      FullName: 'Peter Parker',
      ExpirationDate: 'Not Available',
      IDNumber: 'A01234567',
      ResultCode: '1012',
      ResultText: 'ID Validated',
      ResultType: 'ID Verification',
      HostedJobID: '0000000857',
    },
  ],
};
const finishedJobRef = {
  userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650',
  jobId: '52d0de86-be3b-4219-9e96-8195b0018944',
};

/** Soon after the known signature was made. */
const soonAfter = { now: () => Date.parse(known.timestamp) + 1_000 };

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

contract('hmacSha256() with two keys signs with the first and verifies with both', async () => {
  const { apiKey, signature, ...input } = known;
  const signer = hmacSha256({ apiKey: ['the-new-key', apiKey] });
  expectLike(await signer.verify(signature, input), true, 'the old key');
  expectLike(await hmacSha256({ apiKey: 'the-new-key' }).verify(await signer.sign(input), input), true, 'the new key');
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

contract('ed25519() refuses what was tampered with, its other S too, and never throws', async () => {
  const [{ seed, publicKey, signature }] = rfc8032;
  const signer = ed25519({ secretKey: bytesOf(seed), servicePublicKey: bytesOf(publicKey), context: '' });
  const input = { timestamp: '', partnerId: '' };
  const tampered = bytesOf(signature).with(0, 0xe4);
  const others = [base64Of(tampered), base64Of(bytesOf(withOtherS(signature))), base64Of(new Uint8Array(64)), '', 'no'];
  for (const other of others) expectLike(await signer.verify(other, input), false, `verify(${other})`);
  expectLike(await signer.verify(base64Of(bytesOf(signature)), { ...input, partnerId: '1' }), false, 'another partner');
});

// Links ---------------------------------------------------------------------

contract('links.create() sends a request under the signature the protocol says', async () => {
  const { sandbox, client } = start({ partnerId: '007' });
  const { url, refId } = await client.links.create(newLink);
  const [{ body, status }] = sandbox.requests;
  const expected = await platformHmac(sandbox.clientOptions.apiKey, `${body.timestamp}007sid_request`);
  expectLike(body, { partner_id: '007', signature: expected, company_name: 'Example Ltd' }, 'the request');
  expectLike(status, 200, 'the status');
  expectLike([typeof refId, new URL(url).protocol], ['string', 'https:'], 'the link');
});

contract('links.get() gives back what was created', async () => {
  const { client } = start();
  const expiresAt = new Date('2027-02-03T04:05:06.789Z');
  const { refId, url } = await client.links.create({ ...newLink, name: 'Žluťoučký 验证 🪪', expiresAt });
  const link = await client.links.get(refId);
  const { companyName, dataPrivacyPolicyUrl, callbackUrl, idTypes } = newLink;
  const name = 'Žluťoučký 验证 🪪';
  expectLike(
    link,
    { refId, url, name, companyName, dataPrivacyPolicyUrl, callbackUrl, idTypes, expiresAt },
    'the link',
  );
  expectLike(link, { state: 'active', disabledAt: null, jobs: { total: 0, failed: 0, successful: 0 } }, 'the link');
});

contract('links.update() replaces the ID types, and links.disable() disables', async () => {
  const { client } = start();
  const { refId } = await client.links.create(newLink);
  const idTypes = [{ country: 'GH', idType: 'VOTER_ID', verificationMethod: 'biometric_kyc' }];
  expectLike(await client.links.update(refId, { idTypes }), { refId, idTypes, state: 'active' }, 'updated');
  expectLike(await client.links.disable(refId), { refId, idTypes, state: 'disabled', disabledAt: Date }, 'disabled');
});

contract('links.list() awaited is a page, and nextPage() the one behind it', async () => {
  const { sandbox, client } = start({ pageSize: 3 });
  sandbox.links.seed(5);
  const page = await client.links.list();
  const next = await page.nextPage();
  expectLike([page.links.length, page.hasNextPage, page.meta.totalCount], [3, true, 5], 'the first page');
  expectLike([next.links.length, next.hasNextPage, await next.nextPage()], [2, false, null], 'the second page');
});

contract('links.list() iterated with prefetch is every link once, in order', async () => {
  for (const prefetch of [0, 4]) {
    const { sandbox, client } = start({ pageSize: 7, spelling: 'random', seed: 3 });
    sandbox.links.seed(50);
    const refIds = (await listOf(client.links.list({ prefetch }))).map(({ refId }) => refId);
    const expected = sandbox.links.all().map(({ ref_id }) => ref_id);
    expectLike(refIds, expected, `with prefetch ${prefetch}`);
  }
});

contract('links.list() that is left early sends nothing more', async () => {
  const { sandbox, client } = start({ pageSize: 2 });
  sandbox.links.seed(40);
  for await (const _link of client.links.list()) break;
  const before = sandbox.requests.length;
  expectLike((await client.links.list().toArray({ limit: 3 })).length, 3, 'toArray()');
  expectLike([before, sandbox.requests.length], [1, 3], 'the requests');
});

contract('.withResponse() tells of the answer beside the value', async () => {
  const { client } = start();
  const { data, response } = await client.links.create(newLink).withResponse();
  expectLike(response, { status: 200, attempts: 1, headers: Headers }, 'the response');
  expectLike(JSON.parse(response.rawBody()), { ref_id: data.refId }, 'the raw body');
});

contract('a client made while a module loads serves later calls, many at once', async () => {
  const created = await Promise.all(Array.from({ length: 20 }, () => early.client.links.create(newLink)));
  expectLike(new Set(created.map(({ refId }) => refId)).size, 20, 'the links');
});

// Jobs ----------------------------------------------------------------------

contract('jobs.status() follows a job from pending to its history', async () => {
  const { sandbox, client } = start();
  const job = sandbox.jobs.start();
  expectLike(await client.jobs.status(job), { ...job, state: 'pending', complete: false, result: null }, 'at first');
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Under Review' });
  sandbox.jobs.complete(job, 'approved');
  const status = await client.jobs.status({ ...job, history: true, imageLinks: true });
  expectLike(status, { state: 'succeeded', success: true, signedAt: Date, result: { isFinal: true } }, 'at last');
  expectLike(status.history[0], { resultCode: '0814', isFinal: false }, 'the history');
  expectLike([status.history.length, typeof status.imageLinks.selfieImage], [2, 'string'], 'what was asked for');
});

contract('jobs.status() reads a real answer under a known signature', async () => {
  const { apiKey, partnerId } = known;
  const client = answeredWith([finishedJob], { apiKey, partnerId, clock: soonAfter });
  const status = await client.jobs.status({ ...finishedJobRef, history: true, imageLinks: true });
  expectLike(status, {
    state: 'succeeded',
    code: '2302',
    signedAt: new Date(known.timestamp),
    result: { resultText: 'Enroll User', hostedJobId: '0000001897', isFinal: true, isMachine: true, confidence: 100 },
    imageLinks: { selfieImage: finishedJob.image_links.selfie_image },
    history: [
      { resultCode: '0814', confidence: 97, identity: null, partnerParams: { jobType: '1' } },
      { resultCode: '1012', identity: { fullName: 'Peter Parker', idNumber: 'A01234567', dateOfBirth: '1990-01-01' } },
    ],
  });
});

contract('jobs.status() does not believe a real answer that was tampered with', async () => {
  const { apiKey, partnerId } = known;
  const unkeyed = {
    timestamp: '1678216434434',
    signature: '6f3dec6d6fad3cfe36fb62b38a185de1cd53088291082d6f20fddbf5ea0e4a0f',
    job_complete: false,
    job_success: false,
    code: '2314',
    result: 'No zip file received',
  };
  const cases = [
    [{ ...finishedJob, timestamp: '2023-03-09T21:35:00.280Z' }, partnerId, 'mismatch'],
    [{ ...finishedJob, signature: undefined }, partnerId, 'missing'],
    [unkeyed, '001', 'unkeyed'],
  ];
  for (const [body, asPartner, reason] of cases) {
    const client = answeredWith([body], { apiKey, partnerId: asPartner, clock: soonAfter, maxResponseAgeMs: false });
    const error = await rejection(client.jobs.status(finishedJobRef));
    expectLike(error, HostedSignatureError);
    expectLike(error, { code: 'signature', reason, outcome: 'answered' }, reason);
  }
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

contract('waitForCompletion() ends at its deadline with HostedPollTimeoutError', async () => {
  const { clock, sandbox, client } = start();
  const job = sandbox.jobs.start();
  const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 60_000 }));
  await clock.advance(60_000);
  const error = await failed;
  expectLike(error, HostedPollTimeoutError);
  expectLike(error, { code: 'poll_timeout', elapsedMs: 60_000, job, lastStatus: { state: 'pending' } }, 'the error');
});

contract('watch() gives every status and ends behind the completed one', async () => {
  const { clock, sandbox, client } = start();
  const job = sandbox.jobs.start();
  const states = [];
  const watched = (async () => {
    for await (const { state } of client.jobs.watch(job, { jitter: false })) states.push(state);
  })();
  await clock.advance(2_000);
  sandbox.jobs.complete(job, 'approved');
  await clock.advance(10_000);
  await watched;
  expectLike(states, ['pending', 'pending', 'succeeded'], 'the states');
});

contract('waitForAll() brings every job to its end, a failing one too', async () => {
  const { clock, sandbox, client } = start();
  const jobs = Array.from({ length: 30 }, (_, row) => ({ ...sandbox.jobs.start(), row }));
  const lost = { userId: 'nobody', jobId: 'nothing', row: 30 };
  const ended = listOf(client.jobs.waitForAll([...jobs, lost], { concurrency: 4, notFoundGraceMs: 0 }));
  for (const job of jobs) {
    await clock.advance(1_000);
    sandbox.jobs.complete(job, 'approved');
  }
  await clock.advance(60_000);
  const entries = await ended;
  const rows = entries.map(({ job }) => job.row).sort((one, other) => one - other);
  expectLike(rows, [...jobs.keys(), 30], 'the rows');
  for (const { job, status, error } of entries) {
    if (job.row === 30) expectLike(error, HostedNotFoundError);
    else expectLike(status, { state: 'succeeded', userId: job.userId }, `row ${job.row}`);
  }
});

contract('a service and a client that sign with ed25519 understand each other', async () => {
  const { sandbox, client } = start({ scheme: 'ed25519' });
  const { refId } = await client.links.create(newLink);
  const job = sandbox.jobs.start({ linkRefId: refId });
  expectLike(await client.jobs.status(job), { state: 'pending' }, 'the status');
  sandbox.failNext('jobs.status', { kind: 'bad-signature' });
  expectLike(await rejection(client.jobs.status(job)), HostedSignatureError);
});

// Errors --------------------------------------------------------------------

/** A fault, the operation it spoils, and what the caller sees. */
const faults = [
  [{ kind: 'status', status: 400 }, 'create', HostedApiError, { code: 'api', outcome: 'refused', mayHaveActed: false }],
  [{ kind: 'status', status: 401 }, 'get', HostedAuthenticationError, { code: 'authentication', attempts: 1 }],
  [{ kind: 'status', status: 404 }, 'get', HostedNotFoundError, { code: 'not_found', status: 404, attempts: 1 }],
  [{ kind: 'status', status: 408 }, 'get', HostedTimeoutError, { code: 'timeout', outcome: 'refused', attempts: 3 }],
  [{ kind: 'status', status: 429 }, 'create', HostedRateLimitError, { code: 'rate_limit', attempts: 3 }],
  [{ kind: 'status', status: 503 }, 'get', HostedServerError, { code: 'server', status: 503, attempts: 3 }],
  [{ kind: 'status', status: 503 }, 'create', HostedServerError, { mayHaveActed: true, retryable: false, attempts: 1 }],
  [{ kind: 'network' }, 'get', HostedConnectionError, { code: 'connection', outcome: 'unknown', attempts: 3 }],
  [{ kind: 'network' }, 'create', HostedConnectionError, { outcome: 'unknown', retryable: false, attempts: 1 }],
  [{ kind: 'truncate' }, 'create', HostedConnectionError, { code: 'connection', outcome: 'unknown', attempts: 1 }],
  [{ kind: 'stall' }, 'create', HostedTimeoutError, { phase: 'attempt', outcome: 'unknown', attempts: 1 }],
  [{ kind: 'stall' }, 'get', HostedTimeoutError, { phase: 'attempt', outcome: 'unknown', attempts: 3 }],
  [{ kind: 'html' }, 'create', HostedResponseError, { reason: 'malformed', outcome: 'answered', attempts: 1 }],
  [{ kind: 'bad-signature' }, 'status', HostedSignatureError, { reason: 'mismatch', outcome: 'answered' }],
  [{ kind: 'missing-signature' }, 'status', HostedSignatureError, { reason: 'missing', outcome: 'answered' }],
  [{ kind: 'stale-timestamp' }, 'status', HostedSignatureError, { reason: 'stale', outcome: 'answered' }],
];

contract('every fault of the service is the error that the tables say', async () => {
  for (const [fault, operation, type, facts] of faults) {
    const { clock, sandbox, client } = start();
    const job = sandbox.jobs.start();
    sandbox.failNext(operation === 'status' ? 'jobs.status' : `links.${operation}`, fault, 3);
    const calls = {
      create: () => client.links.create(newLink),
      get: () => client.links.get('link-1'),
      status: () => client.jobs.status(job),
    };
    const failed = rejection(calls[operation]());
    await clock.advance(200_000);
    const what = `${fault.kind} ${fault.status ?? ''} on ${operation}`;
    expectLike(await failed, type, what);
    expectLike(await failed, facts, what);
    expectLike(sandbox.requests.length, facts.attempts ?? 1, `the requests of ${what}`);
  }
});

contract('every error is a HostedError with a name and a code, and an Error of the platform', async () => {
  const { client } = start();
  const error = await rejection(client.links.get('no-such-link'));
  expectLike(error, Error);
  expectLike(error, HostedError);
  expectLike([isHostedError(error), isHostedError(new Error('another'))], [true, false], 'isHostedError()');
  expectLike(
    [error.name, error.code, String(error).startsWith('HostedNotFoundError: ')],
    ['HostedNotFoundError', 'not_found', true],
  );
});

contract('an error that is passing is outlasted, after what Retry-After asks for', async () => {
  const { clock, sandbox, client } = start();
  const { refId } = await client.links.create(newLink);
  sandbox.failNext('links.get', { kind: 'status', status: 503, retryAfter: '7' });
  const got = client.links.get(refId).withResponse();
  await clock.advance(6_999);
  const before = sandbox.requests.length;
  await clock.advance(1);
  expectLike((await got).response, { attempts: 2, status: 200 }, 'the response');
  expectLike([before, sandbox.requests.length], [2, 3], 'the requests');
});

contract('timeoutMs ends an attempt and totalTimeoutMs the call, by the clock that was given', async () => {
  for (const [options, phase] of [
    [{ timeoutMs: 5_000, maxRetries: 0 }, 'attempt'],
    [{ timeoutMs: 60_000, totalTimeoutMs: 5_000 }, 'total'],
  ]) {
    const { clock, sandbox, client } = start({}, options);
    sandbox.failNext('links.list', { kind: 'stall' });
    let over = false;
    const failed = rejection(client.links.list().then()).finally(() => {
      over = true;
    });
    await clock.advance(4_999);
    const early = over;
    await clock.advance(1);
    expectLike([early, await failed], [false, HostedTimeoutError], phase);
    expectLike(await failed, { phase, outcome: 'unknown' }, 'the error');
  }
});

contract('an abort rejects with the very reason, before, during and between attempts', async () => {
  for (const reason of [new Error('enough'), 'a text', { an: 'object' }]) {
    const before = start();
    const aborted = before.client.links.get('link-1', { signal: AbortSignal.abort(reason) });
    expectLike((await rejection(aborted)) === reason, true, 'before');
    expectLike(before.sandbox.requests.length, 0, 'the requests');

    for (const fault of [{ kind: 'stall' }, { kind: 'status', status: 503, retryAfter: '60' }]) {
      const { clock, sandbox, client } = start();
      const controller = new AbortController();
      sandbox.failNext('links.get', fault, 3);
      const failed = rejection(client.links.get('link-1', { signal: controller.signal }));
      await clock.advance(1_000);
      controller.abort(reason);
      expectLike((await failed) === reason, true, `during ${fault.kind}`);
    }
  }
});

contract('bad input rejects with HostedValidationError that names each member, and nothing is sent', async () => {
  const { sandbox, client } = start();
  const error = await rejection(client.links.create({ ...newLink, companyName: '', callbackUrl: 'nowhere' }));
  expectLike(error, HostedValidationError);
  expectLike(error, { code: 'validation', outcome: 'not_sent', attempts: 0 }, 'the error');
  expectLike(error.issues.map(({ path }) => path).sort(), ['callbackUrl', 'companyName'], 'the issues');
  expectLike(sandbox.requests.length, 0, 'the requests');
});

contract('a client that cannot work throws HostedConfigError with every problem', () => {
  const { sandbox } = start();
  const wrong = {
    ...sandbox.clientOptions,
    partnerId: '',
    baseUrls: { sandbox: 'http://service.example' },
    maxRetries: -1,
  };
  const error = thrownBy(() => new HostedClient(wrong));
  expectLike(error, HostedConfigError);
  expectLike(
    error.issues.map(({ path }) => path).sort(),
    ['baseUrls.sandbox', 'maxRetries', 'partnerId'],
    'the issues',
  );
});

contract('HostedClient.fromEnv() names the variables that are missing', () => {
  const error = thrownBy(() => HostedClient.fromEnv());
  expectLike(error, HostedConfigError);
  const missing = ['HOSTED_API_KEY', 'HOSTED_PARTNER_ID', 'HOSTED_SANDBOX_BASE_URL'];
  expectLike(error.issues.map(({ path }) => path).sort(), missing, 'the issues');
});

contract('the key of one environment is refused by the other', async () => {
  const { service, sandbox } = start();
  const { apiKey } = sandbox.clientOptions;
  const client = new HostedClient({ ...service.production.clientOptions, apiKey, fetch: service.fetch });
  const error = await rejection(client.links.list().then());
  expectLike(error, HostedAuthenticationError);
  expectLike(error.message.includes('production'), true, 'the message');
});

contract('no error, event or log line shows a key, a signature or a person', async () => {
  const told = [];
  const log = (...given) => told.push(given);
  const logger = { debug: log, info: log, warn: log, error: log };
  const { clock, sandbox, client } = start({}, { logger, onEvent: log, apiKey: 'planted-key' });
  const job = { userId: 'planted-user', jobId: 'planted-job' };
  const failures = [
    rejection(client.jobs.status(job)),
    rejection(client.links.create({ ...newLink, userId: 'planted-user', isSingleUse: 'planted-text' })),
  ];
  sandbox.failNext('links.get', { kind: 'status', status: 500, body: { error: 'planted-words' } }, 3);
  failures.push(rejection(client.links.get('planted-link')));
  await clock.advance(60_000);
  for (const error of await Promise.all(failures)) {
    expectLike(error, HostedError);
    told.push(error, String(error), error.stack, error.cause, { ...error });
  }
  const signature = sandbox.requests[0].body.sec_key;
  const text = JSON.stringify(told);
  expectLike([typeof signature, told.length > 12], ['string', true], 'what there was to tell');
  expectLike([text.includes('planted'), text.includes(signature)], [false, false], 'what was told');
});

contract('onEvent gets the events of a call under one callId', async () => {
  const events = [];
  const { clock, sandbox, client } = start({}, { onEvent: (event) => events.push(event) });
  sandbox.failNext('links.list', { kind: 'status', status: 502 });
  const listed = client.links.list().then();
  await clock.advance(10_000);
  await listed;
  const types = ['request', 'response', 'retry', 'request', 'response', 'call'];
  expectLike(
    events.map(({ type }) => type),
    types,
    'the types',
  );
  expectLike([new Set(events.map(({ callId }) => callId)).size, events[4].status], [1, 200], 'the events');
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

contract('callbacks.receive() believes a genuine callback, as text and as bytes', async () => {
  const { sandbox, client, job, refId } = await receiving();
  const text = await (await sandbox.jobs.callback(job)).text();
  const hint = await client.callbacks.receive(text);
  expectLike(hint, { ...job, linkId: refId, isFinal: true, signedAt: Date }, 'the hint');
  expectLike(await client.callbacks.receive(new TextEncoder().encode(text)), hint, 'the same as bytes');
  const { event, status } = await client.callbacks.confirm(hint);
  expectLike({ event, status }, { event: { ...job, linkId: refId }, status: { state: 'succeeded' } }, 'the status');
  expectLike(event.id.length, 64, 'the id');
});

contract('a handler answers 200 to a genuine callback of 1.5 MB, and hands over the status', async () => {
  const { deliver, handled, job } = await receiving();
  const padBytes = 1_500_000;
  expectLike(await deliver({ padBytes, variant: 'unsigned' }), 401, 'the answer to an unsigned one');
  expectLike(await deliver({ padBytes }), 200, 'the answer to a genuine one');
  expectLike(handled, [{ event: job, status: { ...job, state: 'succeeded' } }], 'what was handed over');
});

contract('a handler takes a late callback as a hint, and hands over the signed status', async () => {
  const { deliver, handled, job } = await receiving();
  expectLike([await deliver({ variant: 'stale' }), await deliver({ variant: 'forged' })], [200, 401], 'the answers');
  expectLike(handled, [{ event: job, status: { ...job, state: 'succeeded' } }], 'what was handed over');
});

contract('a handler answers 405, 400 and 413 to what is no callback, and 500 when onEvent rejects', async () => {
  const { to } = await receiving({ maxBytes: 2_000 });
  const post = (body) => new Request('https://partner.example/callbacks', { method: 'POST', body });
  expectLike((await to(new Request('https://partner.example/callbacks'))).status, 405, 'GET');
  expectLike((await to(post('no JSON'))).status, 400, 'no JSON');
  expectLike((await to(post('x'.repeat(3_000)))).status, 413, 'too large');
  const failing = await receiving({ onEvent: () => Promise.reject(new Error('down')) });
  expectLike(await failing.deliver(), 500, 'the answer');
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

contract('on the wire: get is repeated after a reset', async (surroundings) => {
  const { client } = onWire(surroundings, 'reset');
  const error = await rejection(client.links.get('link-1'));
  expectLike(error, HostedConnectionError);
  expectLike(error, { outcome: 'unknown', attempts: 3, retryable: true }, 'the error');
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
