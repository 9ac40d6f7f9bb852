/** How a hint ends: the reason that metrics are given, what the guard is asked, and how long a result is in hand. */

import { type HostedClient, type HostedEvent, HostedPollTimeoutError, type ReplayGuard } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { clientOf, deferred, manualClock, now, type Reply, sign, signed, stillClock } from '../support/fake-fetch.js';

const nowText = '2026-01-02T03:04:05.678Z';
const laterText = '2026-01-02T03:05:00.000Z';

const result = {
  ResultCode: '0810',
  HostedJobID: '0000001111',
  PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
};

function post(properties: object = {}, timestamp = nowText): Request {
  const body = JSON.stringify({ ...result, ...properties, timestamp, signature: sign(timestamp) });
  return new Request('https://partner.test/callbacks', { method: 'POST', body });
}

const succeeded =
  (time = () => now): Reply =>
  () =>
    Response.json(
      signed(
        { job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1', history: [result] },
        { timestamp: new Date(time()).toISOString() },
      ),
    );

const pending = signed({ job_complete: false, user_id: 'user-1', job_id: 'job-1' });

/** A client that records how each delivery ended, and what onError is given. */
function recordingClient(reply: Reply, options: Parameters<typeof clientOf>[1] = {}) {
  const events: HostedEvent[] = [];
  const errors: unknown[] = [];
  const { client, sent, arrived } = clientOf(reply, { onEvent: (event) => void events.push(event), ...options });
  const endings = () =>
    events.flatMap((event) => (event.type === 'callback' ? [`${event.status} ${event.reason ?? event.result}`] : []));
  return { client, sent, arrived, endings, errors, onError: (error: unknown) => void errors.push(error) };
}

/** A guard that records what it is asked. */
function guardOf(begin: ReplayGuard['begin']) {
  const asked: string[] = [];
  const replayGuard: ReplayGuard = {
    begin: (...given) => {
      asked.push('begin');
      return begin(...given);
    },
    commit: async () => void asked.push('commit'),
    forget: async () => void asked.push('forget'),
  };
  return { asked, replayGuard };
}

test('what is beyond the bounds ends as "limit", and leaves nothing in the guard', async () => {
  const { client, endings, errors, onError } = recordingClient(succeeded());
  const { asked, replayGuard } = guardOf(async () => 'new');
  const handle = client.callbacks.handler({ onEvent: () => undefined, onError, replayGuard, maxJobsPerSignature: 1 });

  await handle(post());
  await handle(post({ PartnerParams: { user_id: 'user-1', job_id: 'job-2' } }));
  await handle(post({ FullName: 'Mallory' }));

  expect(endings()).toEqual(['200 accepted', '503 limit', '503 limit']);
  // The guard is not asked about the second job. The second body of the first job came within a second.
  expect(asked).toEqual(['begin', 'commit', 'begin', 'forget']);
  expect(errors).toMatchObject(Array(2).fill({ reason: 'replayed', outcome: 'answered', retryable: true }));
  expect(String(errors[0])).toMatch(/"maxJobsPerSignature"/);
});

test('a second body that leads to the same result ends as a repeat', async () => {
  const clock = manualClock();
  const { client, endings } = recordingClient(succeeded(clock.now), { clock });
  const handle = client.callbacks.handler({ onEvent: () => undefined });

  await handle(post());
  clock.advance(1_000);
  await handle(post({ FullName: 'Mallory' }));

  expect(endings()).toEqual(['200 accepted', '200 repeat']);
});

test.each([
  ['says it is busy', async () => 'busy' as const, '503 busy', ['begin', 'begin', 'commit']],
  ['says it is new', async () => 'new' as const, '503 limit', ['begin', 'begin', 'forget', 'commit']],
  ['fails', () => Promise.reject(new Error('the store is away')), '503 guard', ['begin', 'begin', 'commit']],
])(
  'the guard is asked about a hint that is in hand, and where it %s, job status is not',
  async (_what, then, ending, steps) => {
    const { client, sent, arrived, endings, errors, onError } = recordingClient(succeeded());
    let times = 0;
    const { asked, replayGuard } = guardOf(async () => {
      times += 1;
      return times === 1 ? 'new' : then();
    });
    const handling = deferred();
    const onEvent = vi.fn(() => handling.promise);
    const handle = client.callbacks.handler({ onEvent, onError, replayGuard });

    const first = handle(post());
    await arrived(1);
    await vi.waitFor(() => expect(onEvent).toHaveBeenCalledTimes(1));
    await handle(post());
    handling.resolve();
    await first;

    expect(endings()).toEqual([ending, '200 accepted']);
    expect(asked).toEqual(steps);
    expect(sent).toHaveLength(1);
    expect(errors).toHaveLength(1);
  },
);

test('the lease of a result ends with that of its callback, however long confirming took', async () => {
  const clock = manualClock();
  const asked = deferred();
  const { client, arrived, endings } = recordingClient(
    async (request, signal) => {
      await asked.promise;
      const reply = succeeded(clock.now);
      return typeof reply === 'function' ? reply(request, signal) : Response.error();
    },
    { clock },
  );
  const hung = deferred();
  const onEvent = vi.fn(() => (onEvent.mock.calls.length === 1 ? hung.promise : undefined));
  const handle = client.callbacks.handler({ onEvent, leaseMs: 10_000 });
  clock.advance(5_000);

  const first = handle(post());
  await arrived(1);
  clock.advance(4_000);
  asked.resolve();
  await vi.waitFor(() => expect(onEvent).toHaveBeenCalledTimes(1));
  clock.advance(5_999);
  await handle(post({}, laterText));
  clock.advance(1_000);
  await handle(post({}, laterText));
  hung.resolve();
  await first;

  expect(endings()).toEqual(['503 busy', '200 accepted', '200 accepted']);
  expect(onEvent).toHaveBeenCalledTimes(2);
});

test('a final callback whose job stays pending ends as "pending", with what is known of the job', async () => {
  const clock = {
    now: () => now,
    sleep: async (ms: number, signal?: AbortSignal) => (ms === 2_000 ? undefined : stillClock().sleep(ms, signal)),
  };
  const { client, endings, errors, onError } = recordingClient(pending, { clock });

  await client.callbacks.handler({ onEvent: () => undefined, onError })(post());

  expect(endings()).toEqual(['503 pending']);
  expect(errors).toEqual([expect.any(HostedPollTimeoutError)]);
  expect(errors).toMatchObject([
    {
      job: { userId: 'user-1', jobId: 'job-1' },
      lastStatus: { state: 'pending' },
      elapsedMs: 2_000,
      operation: 'jobs.status',
      outcome: 'answered',
      attempts: 2,
      retryable: true,
    },
  ]);
  expect(String(errors[0])).toMatch(/Cannot receive a callback: it is marked as final, but the job is still pending/);
});

test('a confirmation that an error of another kind ends has the reason "error"', async () => {
  const away = new Error('the clock is away');
  const clock = {
    now: () => now,
    sleep: (ms: number, signal?: AbortSignal) => (ms === 2_000 ? Promise.reject(away) : stillClock().sleep(ms, signal)),
  };
  const { client, endings, errors, onError } = recordingClient(pending, { clock });

  await client.callbacks.handler({ onEvent: () => undefined, onError })(post());

  expect(endings()).toEqual(['503 error']);
  expect(errors).toEqual([away]);
});

test('a guard that fails where nothing is confirmed ends a callback as "guard"', async () => {
  const { client, endings } = recordingClient({});
  const told: unknown[] = [];
  const away = new Error('the store is away');
  const { replayGuard } = guardOf(() => Promise.reject(away));

  await client.callbacks.handler({
    confirm: false,
    onEvent: () => undefined,
    onError: (error, { phase }) => void told.push([phase, error]),
    replayGuard,
  })(post());

  expect(endings()).toEqual(['503 guard']);
  expect(told).toEqual([['guard', away]]);
});

test('a callback that is in hand is an error that says so', async () => {
  const { client, endings, errors, onError } = recordingClient({});
  const { replayGuard } = guardOf(async () => 'busy');

  await client.callbacks.handler({ confirm: false, onEvent: () => undefined, onError, replayGuard })(post());

  expect(endings()).toEqual(['503 busy']);
  expect(errors).toMatchObject([{ reason: 'replayed', outcome: 'answered', retryable: true }]);
  expect(String(errors[0])).toMatch(/the same callback is being handled/);
});

const onEvent = () => undefined;
const anyBody: ReplayGuard = { begin: async () => 'new', commit: async () => {}, forget: async () => {} };

const doors: readonly (readonly [string, (client: HostedClient) => (request: Request) => Promise<Response>])[] = [
  ['a handler that confirms', (client) => client.callbacks.handler({ onEvent })],
  [
    'a handler that does not, whose guard takes any body',
    (client) => client.callbacks.handler({ confirm: false, onEvent, replayGuard: anyBody }),
  ],
  [
    'receive(), whose guard takes any body',
    (client) => async (request) => {
      const error = await client.callbacks
        .receive(await request.text(), { maxAgeMs: false, replayGuard: anyBody })
        .then(
          () => null,
          (thrown: unknown) => thrown,
        );
      if (error !== null) expect(error).toMatchObject({ code: 'signature', reason: 'replayed', retryable: true });
      return new Response(null, { status: error === null ? 200 : 503 });
    },
  ],
];

test.each(
  doors.flatMap(([door, open]) =>
    (
      [
        ['with milliseconds', nowText, 503],
        ['with a fraction of nought', '2026-01-02T03:04:05.000Z', 503],
        ['as milliseconds', now, 503],
        ['as milliseconds in a string', String(now), 503],
        ['in whole seconds', '2026-01-02T03:04:05Z', 200],
        ['as seconds', Math.floor(now / 1_000), 200],
      ] as const
    ).map(([how, timestamp, status]) => [door, how, status, open, timestamp] as const),
  ),
)('%s gives a ninth job under one signed time that is written %s %d', async (_door, _how, status, open, timestamp) => {
  const { client } = recordingClient(({ body: { user_id, job_id } }) =>
    Response.json(signed({ job_complete: true, job_success: true, user_id, job_id })),
  );
  const handle = open(client);
  const postJob = async (job: number) => {
    const PartnerParams = { user_id: 'user-1', job_id: `job-${job}` };
    const body = JSON.stringify({ ...result, PartnerParams, timestamp, signature: sign(String(timestamp)) });
    return (await handle(new Request('https://partner.test/callbacks', { method: 'POST', body }))).status;
  };

  for (let job = 1; job <= 8; job++) expect(await postJob(job)).toBe(200);

  expect(await postJob(9)).toBe(status);
  expect(await postJob(8)).toBe(200);
});

test('all doors of a client count the jobs of a signed time together', async () => {
  const { client, endings } = recordingClient(
    signed({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' }),
  );
  const confirming = client.callbacks.handler({ onEvent, maxJobsPerSignature: 2 });
  const other = client.callbacks.handler({ confirm: false, onEvent, replayGuard: anyBody, maxJobsPerSignature: 2 });
  const jobOf = (job: number) => post({ PartnerParams: { user_id: 'user-1', job_id: `job-${job}` } });

  await confirming(jobOf(1));
  await other(jobOf(2));
  await other(jobOf(1));
  await other(jobOf(3));

  expect(endings()).toEqual(['200 accepted', '200 accepted', '200 accepted', '503 limit']);
});
