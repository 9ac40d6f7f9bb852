// What a client learns from call to call: what an outage leaves of its retries, and the service's clock.

import {
  HostedAuthenticationError,
  type HostedClientOptions,
  HostedServerError,
  HostedSignatureError,
} from 'hosted-client';
import { expect, test } from 'vitest';
import {
  clientOf,
  deferred,
  failed,
  manualClock,
  now,
  operations,
  type Reply,
  recordingClock,
  rejection,
  type SentRequest,
  sign,
  signed,
  stillClock,
} from './support/fake-fetch.js';

const [create, , get, , status] = operations;
const repeatable = operations.filter((operation) => operation.repeatable);
const job = { userId: 'user-1', jobId: 'job-1' };
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const unavailable: Reply = () => Response.json({}, { status: 503 });

// Outages -------------------------------------------------------------------

/** A service that is down or up, and a client of it that sleeps for nobody. */
function outage(options: Partial<HostedClientOptions> = {}, down: Reply = unavailable) {
  const service = { up: false };
  const reply: Reply = (request, signal) => {
    if (typeof down === 'function' && !service.up) return down(request, signal);
    const operation = operations.find(({ name }) => request.url.endsWith(addresses[name]));
    return Response.json(operation?.answer());
  };
  const { client, sent } = clientOf(reply, { clock: recordingClock(), ...options });
  /** How many requests a number of calls makes. */
  const requests = async (calls: number, call: (number: number) => Promise<unknown>) => {
    const before = sent.length;
    for (let number = 0; number < calls; number++) await call(number).catch(() => undefined);
    return sent.length - before;
  };
  return { service, client, sent, requests };
}

const addresses = {
  'links.create': '/v1/hosted_links',
  'links.update': 'no other',
  'links.get': '/ref-1',
  'links.list': '/list',
  'jobs.status': '/job_status',
} as const;

test.each(repeatable)('1,000 calls of $name in an outage make at most 1,200 requests', async ({ call }) => {
  const { client, requests } = outage();

  const made = await requests(1_000, () => call(client));

  expect(made).toBeLessThanOrEqual(1_200);
  // 500 tokens, 5 a retry.
  expect(made).toBe(1_100);
});

test('1,000 calls of every kind, and each kind of failure, make at most 1,200 requests', async () => {
  const downs = [
    () => Response.json({}, { status: 503 }),
    () => Response.json({}, { status: 500, headers: { 'retry-after': '0' } }),
    () => Response.json({}, { status: 429, headers: { 'retry-after': '0' } }),
    () => Response.json({}, { status: 408 }),
    () => Response.json({ code: '2301' }),
    () => {
      throw failed('ECONNREFUSED');
    },
    () => {
      throw failed('ECONNRESET');
    },
  ];
  let request = 0;
  const { client, requests } = outage({ maxRetries: 5 }, () => downs[request++ % downs.length]?.() ?? new Response());

  const made = await requests(1_000, (number) => (operations[number % 5] ?? get).call(client));

  expect(made).toBe(1_100);
});

test('1,000 calls at once in an outage make at most 1,200 requests', async () => {
  const { client, sent } = outage();

  const errors = await Promise.all(Array.from({ length: 1_000 }, () => rejection(get.call(client))));

  expect(sent).toHaveLength(1_100);
  expect(errors.every((error) => error instanceof HostedServerError)).toBe(true);
});

test('the first calls of an outage are repeated in full, and the last ones not at all', async () => {
  const { client } = outage();

  const attempts: unknown[] = [];
  for (let call = 0; call < 60; call++) {
    attempts.push(((await rejection(get.call(client))) as HostedServerError).attempts);
  }

  expect(attempts).toEqual([...Array(50).fill(3), ...Array(10).fill(1)]);
});

test('a call that has used up the budget rejects with what went wrong, and is still worth repeating', async () => {
  const { client, requests } = outage();
  await requests(100, () => get.call(client));

  const error = await rejection(get.call(client));

  expect(error).toBeInstanceOf(HostedServerError);
  expect(error).toMatchObject({ code: 'server', status: 503, outcome: 'refused', attempts: 1, retryable: true });
});

test.each([
  [1, 0],
  [4, 0],
  [5, 1],
  [50, 10],
  [500, 100],
  [1_000, 100],
])('%i successes after an outage give %i retries back', async (successes, retries) => {
  const { service, client, requests } = outage();
  await requests(100, () => get.call(client));

  service.up = true;
  const after = await requests(successes, () => get.call(client));
  service.up = false;
  const again = await requests(200, () => get.call(client));

  expect(after).toBe(successes);
  expect(again).toBe(200 + retries);
});

test('a client that has known no outage has as much left as a new one', async () => {
  const { service, client, requests } = outage();

  service.up = true;
  await requests(800, () => get.call(client));
  service.up = false;

  expect(await requests(200, () => get.call(client))).toBe(300);
});

test('successes of one operation pay for the retries of another', async () => {
  const { service, client, requests } = outage();
  await requests(100, () => get.call(client));

  service.up = true;
  await requests(50, () => create.call(client));
  service.up = false;

  expect(await requests(100, () => status.call(client))).toBe(110);
});

test('one failure in a hundred calls is always repeated', async () => {
  let request = 0;
  const { client } = clientOf(
    () => (++request % 101 === 1 ? Response.json({}, { status: 503 }) : Response.json(get.answer())),
    {
      clock: recordingClock(),
    },
  );

  for (let call = 0; call < 1_500; call++) await get.call(client);

  expect(request).toBeGreaterThan(1_510);
});

test.each<[string, () => Response]>([
  [
    'a reset',
    () => {
      throw failed('ECONNRESET');
    },
  ],
  [
    'an error without a name',
    () => {
      throw new TypeError('fetch failed');
    },
  ],
  [
    'a body that breaks',
    () => new Response(new ReadableStream({ start: (body) => body.error(failed('UND_ERR_SOCKET')) })),
  ],
  ['status 500', () => Response.json({}, { status: 500 })],
  ['status 503', () => Response.json({}, { status: 503, headers: { 'retry-after': '0' } })],
  ['status 408', () => Response.json({}, { status: 408 })],
  ['HTML', () => new Response('<html>')],
])('1,000 creates whose answers are lost to %s make exactly 1,000 requests', async (_what, lost) => {
  const { client, requests } = outage({ maxRetries: 10 }, lost);

  const made = await requests(1_000, () => create.call(client));

  expect(made).toBe(1_000);
});

test('1,000 creates whose answers never come make exactly 1,000 requests', async () => {
  const clock = manualClock();
  const never: Reply = () => new Promise<Response>(() => undefined);
  const { client, sent, arrived } = clientOf(never, { clock, timeoutMs: 5_000, maxRetries: 10 });

  const calls = Array.from({ length: 1_000 }, () => rejection(create.call(client)));
  await arrived(1_000);
  clock.advance(5_000);
  const errors = await Promise.all(calls);

  expect(sent).toHaveLength(1_000);
  expect(clock.sleeping()).toBe(0);
  for (const error of errors) expect(error).toMatchObject({ code: 'timeout', outcome: 'unknown', attempts: 1 });
});

test('1,000 creates that cannot leave make at most 1,200 attempts', async () => {
  const { client, requests } = outage({}, () => {
    throw failed('ECONNREFUSED');
  });

  expect(await requests(1_000, () => create.call(client))).toBe(1_100);
});

test('clients made by withOptions() have budgets of their own', async () => {
  const { client, requests } = outage();
  const earlier = client.withOptions({});
  await requests(100, () => get.call(client));
  const later = client.withOptions({ maxRetries: 1 });

  const made = [
    await requests(120, () => get.call(earlier)),
    await requests(120, () => get.call(later)),
    await requests(120, () => get.call(client)),
  ];

  expect(made).toEqual([220, 220, 120]);
});

// The service's clock -------------------------------------------------------

/** An answer dated by a clock that is `offsetMs` off, to the second as HTTP has it. */
function dated(
  body: object,
  offsetMs: number,
  more: ResponseInit & { headers?: Record<string, string> } = {},
): Response {
  const date = new Date(now + offsetMs).toUTCString();
  return Response.json(body, { ...more, headers: { date, ...more.headers } });
}

const refusedAt = (offsetMs: number, code = 401) => dated({}, offsetMs, { status: code });

/** How far ahead of the test's time each request was signed. */
const aheadOf = (sent: readonly SentRequest[]) => sent.map(({ body }) => Date.parse(String(body.timestamp)) - now);

/** Signed by a clock that is this far off: `Date` is exact to a second. */
function expectAhead(request: SentRequest | undefined, offsetMs: number): void {
  const [ahead = Number.NaN] = aheadOf(request ? [request] : []);
  expect(Math.abs(ahead - offsetMs)).toBeLessThanOrEqual(second);
}

/** Signed on our own clock. */
function expectOwnTime(request: SentRequest | undefined): void {
  const [ahead = Number.NaN] = aheadOf(request ? [request] : []);
  expect(ahead).toBeGreaterThanOrEqual(0);
  expect(ahead).toBeLessThan(10);
}

const offsets = [10 * minute, -10 * minute, 62 * second, -62 * second, 3 * hour, -26 * hour];

test.each(offsets)('a service whose clock is %i ms off is spoken to in its own time from then on', async (offset) => {
  const { client, sent } = clientOf([dated(get.answer(), offset), get.answer()]);

  await client.links.get('ref-1');
  await client.links.get('ref-1');
  await client.links.get('ref-1');

  expectOwnTime(sent[0]);
  expectAhead(sent[1], offset);
  expectAhead(sent[2], offset);
  for (const { body } of sent) expect(body.signature).toBe(sign(String(body.timestamp)));
});

test.each(operations)(
  'an offset that $name has learnt counts for every operation of the client',
  async ({ call, answer }) => {
    const { client, sent } = clientOf([dated(answer(), 5 * minute), get.answer(), create.answer()]);

    await call(client);
    await client.links.get('ref-1');
    await create.call(client);

    expectAhead(sent[1], 5 * minute);
    expectAhead(sent[2], 5 * minute);
  },
);

test.each([0, second, -second, 30 * second, -30 * second, 58 * second, -58 * second])(
  'an offset of %i ms is borne',
  async (offset) => {
    const { client, sent } = clientOf([dated(get.answer(), offset), get.answer()]);

    await client.links.get('ref-1');
    await client.links.get('ref-1');

    expectOwnTime(sent[1]);
  },
);

test.each(['0', '1', '3600', 'old'])('a Date beside Age "%s" says nothing', async (age) => {
  const { client, sent } = clientOf([dated(get.answer(), 10 * minute, { headers: { age } }), get.answer()]);

  await client.links.get('ref-1');
  await client.links.get('ref-1');

  expectOwnTime(sent[1]);
});

test.each([
  '',
  'soon',
  '1',
  '2031',
  '1767323645',
  '2030-01-02T03:04:05Z',
  '+275760-09-13T00:00:00.000Z',
  'Fri, 02 Jan 2026 09:04:05',
  'Fri, 02 Jan 2026 09:04:05 +0100',
  'Fri, 99 Jan 2026 09:04:05 GMT',
  'Fri, 02 Jan 2026 09:04:05 GMT, Fri, 02 Jan 2026 09:04:05 GMT',
])('a Date of "%s", which is no date of HTTP, says nothing', async (date) => {
  const { client, sent } = clientOf([Response.json(get.answer(), { headers: { date } }), get.answer()]);

  await client.links.get('ref-1');
  await client.links.get('ref-1');

  expectOwnTime(sent[1]);
});

test.each([
  [10 * second, 10 * minute],
  [10 * second + 1, 0],
  [29 * second, 0],
])('a Date after a round trip of %i ms gives an offset of %i ms', async (trip, offset) => {
  const clock = manualClock();
  const slow: Reply = () => {
    clock.advance(trip);
    // Dated in the middle of the way.
    return dated(get.answer(), 10 * minute + trip / 2);
  };
  const { client, sent } = clientOf([slow, get.answer()], { clock });

  await client.links.get('ref-1');
  await client.links.get('ref-1');

  expectAhead(sent[1], trip + offset);
});

test("clockSkew of 'off' learns nothing, and repeats no authentication error", async () => {
  const { client, sent } = clientOf([dated(get.answer(), hour), refusedAt(hour)], { clockSkew: 'off' });

  await client.links.get('ref-1');
  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expect(sent).toHaveLength(2);
  for (const request of sent) expectOwnTime(request);
});

test('an offset is forgotten when the clocks agree again', async () => {
  const { client, sent } = clientOf([
    dated(get.answer(), hour),
    dated(get.answer(), 0),
    dated(get.answer(), -hour),
    dated(get.answer(), 0),
    get.answer(),
  ]);

  for (let call = 0; call < 5; call++) await client.links.get('ref-1');

  expectOwnTime(sent[0]);
  expectAhead(sent[1], hour);
  expectOwnTime(sent[2]);
  expectAhead(sent[3], -hour);
  expectOwnTime(sent[4]);
});

test('an offset that wavers by less than a minute is kept, and no two requests are signed alike', async () => {
  const wavering = [0, 20, -20, 50, -50, 10].map((seconds) => dated(get.answer(), hour + seconds * second));
  const { client, sent } = clientOf([...wavering, get.answer()]);

  for (let call = 0; call < 7; call++) await client.links.get('ref-1');

  for (const request of sent.slice(1)) expectAhead(request, hour);
  expect(new Set(aheadOf(sent)).size).toBe(7);
});

// A clock at half a second measures exactly, as `Date` is cut to the second.
const atHalf = now - (now % second) + second / 2;

test.each<[readonly number[], number]>([
  [[minute], 0],
  [[-minute], 0],
  [[minute + second], minute + second],
  [[hour, hour + minute], hour],
  [[hour, hour - minute], hour],
  [[hour, hour + minute + second], hour + minute + second],
  [[hour, minute], 0],
  [[hour, -minute], 0],
])('after clocks of %j ms ahead, one signs %i ms ahead: more than a minute counts', async (learnt, ahead) => {
  const answers = learnt.map((offset) => dated(get.answer(), offset));
  const { client, sent } = clientOf([...answers, get.answer()], { clock: stillClock(atHalf) });

  for (let call = 0; call <= learnt.length; call++) await client.links.get('ref-1');

  // Where the clock stands still, each request is signed a millisecond after the one before.
  expect(Date.parse(String(sent.at(-1)?.body.timestamp))).toBe(atHalf + learnt.length + ahead);
});

test('an offset is learnt from a refusal and from what cannot be used as well', async () => {
  const answers = [() => refusedAt(hour, 404), () => dated([], hour), () => dated({}, hour, { status: 503 })];

  for (const answer of answers) {
    const { client, sent } = clientOf([answer, get.answer()], { maxRetries: 0 });
    await rejection(client.links.get('ref-1'));
    await client.links.get('ref-1');
    expectAhead(sent[1], hour);
  }
});

test('clients made by withOptions() learn the clock for themselves', async () => {
  const { client, sent } = clientOf([dated(get.answer(), hour), get.answer()]);

  await client.links.get('ref-1');
  await client.withOptions({}).links.get('ref-1');

  expectOwnTime(sent[1]);
});

// Authentication errors -----------------------------------------------------

const refusals: readonly [string, (offsetMs: number) => Response][] = [
  ['status 401', (offset) => refusedAt(offset, 401)],
  ['status 403', (offset) => refusedAt(offset, 403)],
  ['code 2205', (offset) => dated({ error: 'text', code: '2205' }, offset, { status: 400 })],
  ['code 2305', (offset) => dated({ code: 2305 }, offset)],
];

test.each(
  refusals.flatMap(([what, refused]) =>
    operations.flatMap((operation) =>
      [10 * minute, -10 * minute].map((offset) => ({ name: operation.name, what, offset, refused, operation })),
    ),
  ),
)(
  '$name after $what is repeated once in the time of a clock $offset ms off',
  async ({ operation, refused, offset }) => {
    const honest = () =>
      Response.json(
        operation.name === 'jobs.status'
          ? signed({ job_complete: false }, { timestamp: new Date(now + offset).toISOString() })
          : operation.answer(),
      );
    const { client, sent } = clientOf([refused(offset), honest]);

    const { response } = await operation.call(client).withResponse();
    const later = await operation.call(client).withResponse();

    expect(response.attempts).toBe(2);
    expect(later.response.attempts).toBe(1);
    expectOwnTime(sent[0]);
    expectAhead(sent[1], offset);
    expectAhead(sent[2], offset);
    const member = operation.name === 'jobs.status' ? 'sec_key' : 'signature';
    for (const { body } of sent) expect(body[member]).toBe(sign(String(body.timestamp)));
    expect(new Set(sent.map(({ body }) => body[member])).size).toBe(3);
  },
);

test.each(operations)(
  '$name that is refused in the corrected time too rejects after the one repeat',
  async ({ call }) => {
    const { client, sent } = clientOf([refusedAt(hour), refusedAt(2 * hour), refusedAt(3 * hour)], { maxRetries: 10 });

    const error = await rejection(call(client));

    expect(error).toBeInstanceOf(HostedAuthenticationError);
    expect(error).toMatchObject({ code: 'authentication', outcome: 'refused', attempts: 2, retryable: false });
    expect(sent).toHaveLength(2);
  },
);

test.each<[string, Reply]>([
  ['no Date', Response.json({}, { status: 401 })],
  ['a Date that agrees', refusedAt(0)],
  ['a Date within a minute', refusedAt(50 * second)],
  ['a Date from a cache', dated({}, hour, { status: 401, headers: { age: '7' } })],
])('an authentication error with %s is not repeated', async (_what, refused) => {
  const { client, sent } = clientOf(refused);

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expect(sent).toHaveLength(1);
});

test('an authentication error in a time that is known already is not repeated', async () => {
  const { client, sent } = clientOf([dated(get.answer(), hour), refusedAt(hour)]);
  await client.links.get('ref-1');

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expect(sent).toHaveLength(2);
});

test('a time that was refused is corrected for the next call where maxRetries is 0', async () => {
  const { client, sent } = clientOf([refusedAt(hour), get.answer()]);

  const error = await rejection(client.links.get('ref-1', { maxRetries: 0 }));
  await client.links.get('ref-1', { maxRetries: 0 });

  expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expectOwnTime(sent[0]);
  expectAhead(sent[1], hour);
});

test('a call refused in its old time is repeated when another call has learnt the new one', async () => {
  const gate = deferred<void>();
  const undated: Reply = async () => {
    await gate.promise;
    return Response.json({}, { status: 401 });
  };
  const { client, sent } = clientOf([undated, dated(get.answer(), hour), get.answer()]);

  const refused = client.links.get('ref-1').withResponse();
  await client.links.get('ref-1');
  gate.resolve();
  const { response } = await refused;

  expect(response.attempts).toBe(2);
  expectOwnTime(sent[0]);
  expectAhead(sent[2], hour);
});

test('the repeat of an authentication error is not waited for', async () => {
  const clock = recordingClock();
  const { client } = clientOf([refusedAt(hour), get.answer()], { clock });

  await client.links.get('ref-1');

  expect(clock.slept).toEqual([]);
});

// Freshness -----------------------------------------------------------------

const signedAhead = (offsetMs: number) =>
  signed({ job_complete: false }, { timestamp: new Date(now + offsetMs).toISOString() });

test.each([10 * minute, -10 * minute])(
  'an answer of a clock %i ms off is stale until that clock is known, which the answer itself does not tell',
  async (offset) => {
    const { client } = clientOf(() => dated(signedAhead(offset), offset));

    const error = await rejection(client.jobs.status(job));
    const later = await client.jobs.status(job);

    expect(error).toBeInstanceOf(HostedSignatureError);
    expect(error).toMatchObject({ code: 'signature', reason: 'stale', outcome: 'answered', attempts: 1 });
    expect(later.signedAt).toEqual(new Date(now + offset));
  },
);

test('an answer that is fresh by what was known is believed, whatever its own Date says', async () => {
  const { client } = clientOf(() => dated(signedAhead(0), hour));

  const seen = await client.jobs.status(job);
  const error = await rejection(client.jobs.status(job));

  expect(seen.state).toBe('pending');
  expect(error).toMatchObject({ code: 'signature', reason: 'stale' });
});

test('a replayed answer does not become fresh by the Date it is replayed with', async () => {
  const { client } = clientOf(() => dated(signedAhead(-2 * hour), -2 * hour), { maxRetries: 10 });

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'signature', reason: 'stale', attempts: 1 });
});

test('what another call learns while an answer is on its way does not change how that answer is judged', async () => {
  const gate = deferred<void>();
  const slow: Reply = async () => {
    await gate.promise;
    return Response.json(signedAhead(0));
  };
  const { client } = clientOf([slow, dated(get.answer(), hour)]);

  const asked = client.jobs.status(job);
  await client.links.get('ref-1');
  gate.resolve();

  await expect(asked).resolves.toMatchObject({ state: 'pending' });
});
