// Which status a handler hands over, and which delivery it answers: by the service's clock, and by the version.

import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { away, type Sequence, startHandler } from './deliveries.js';

failOnStrayRejections();

const succeeded = { codes: ['0810'] };
const failed = { state: 'failed', codes: ['0810', '0811'] } as const;
const pending = { state: 'pending' } as const;
const underReview = { state: 'pending', codes: ['0814'] } as const;
const interim = { isFinal: false };
const unavailable = new Response(null, { status: 503 });
const accepted = '0 ask, 0 hand, 0 200 accepted';

const sequences: readonly Sequence[] = [
  [
    'a change is handed over once, however often its callback comes',
    {},
    `${accepted}, 3000 ask, 3000 200 repeat, 6000 ask, 6000 200 repeat`,
    [{}, 3_000, {}, 3_000, {}],
  ],
  [
    'a version that was handed over is asked for once more if it was signed less than two seconds after the hint',
    { says: [{}, { at: 4_999 }, {}] },
    `${accepted}, 3000 ask, 5001 ask, 5001 200 repeat`,
    [{}, 3_000, { at: 3_000 }],
  ],
  [
    'a version that was handed over answers a hint if it was signed two seconds after it',
    { says: [{}, { at: 5_000 }] },
    `${accepted}, 3000 ask, 3000 200 repeat`,
    [{}, 3_000, { at: 3_000 }],
  ],
  [
    'the change of a callback that the first status does not show yet is in the second',
    { says: [succeeded, succeeded, { ...failed, at: 5_001 }] },
    `${accepted}, 3000 ask, 5001 ask, 5001 hand failed 0810 0811, 5001 200 accepted`,
    [{}, 3_000, { at: 3_000 }],
  ],
  ['a status may be signed ten seconds before the hint', { says: [{ at: -10_000 }] }, accepted],
  [
    'a status that was signed more than ten seconds before the hint is asked for once more',
    { says: [{ at: -10_001 }, { at: -10_000 }] },
    '0 ask, 2001 ask, 2001 hand, 2001 200 accepted',
  ],
  [
    'a status that is too old a second time is not handed over',
    { says: [{ at: -10_001 }] },
    '0 ask, 2001 ask, 2001 503 stale',
  ],
  [
    'another version counts only if it was signed more than two seconds after what was handed over',
    { says: [{ at: 5_000 }, { ...failed, at: 7_000 }, { ...failed, at: 7_001 }] },
    `${accepted}, 1000 ask, 3001 ask, 3001 hand failed 0810 0811, 3001 200 accepted`,
    [{}, 1_000, { at: 1_000 }],
  ],
  [
    'an older version is not handed over, and its callback has to be redelivered',
    { says: [{ at: 5_000 }, { ...failed, at: 7_000 }, { ...failed, at: 7_000 }, { ...failed, at: 9_000 }] },
    `${accepted}, 1000 ask, 3001 ask, 3001 503 older, 9000 ask, 9000 hand failed 0810 0811, 9000 200 accepted`,
    [{}, 1_000, { at: 1_000 }, 8_000, { at: 1_000 }],
  ],
  [
    'a version that was seen again moves its time forward',
    { says: [{ at: 0 }, { at: 5_000 }, { ...failed, at: 7_000 }] },
    `${accepted}, 3000 ask, 3000 200 repeat, 6000 ask, 8001 ask, 8001 503 older`,
    [{}, 3_000, {}, 3_000, {}],
  ],
  [
    'a final callback whose job is pending asks once more',
    { says: [pending, succeeded] },
    '0 ask, 2001 ask, 2001 hand, 2001 200 accepted',
  ],
  [
    'a final callback whose job stays pending has to be redelivered',
    { says: [pending] },
    '0 ask, 2001 ask, 2001 503 pending',
  ],
  [
    'an interim callback whose job has no result yet hands nothing over',
    { says: [pending] },
    '0 ask, 0 200 repeat',
    [interim],
  ],
  [
    'a pending version with results is handed over as any other',
    { says: [underReview] },
    '0 ask, 0 hand pending 0814, 0 200 accepted',
    [interim],
  ],
  [
    'a callback with the code 0814 is interim, whatever it calls itself',
    { says: [underReview] },
    '0 ask, 0 hand pending 0814, 0 200 accepted',
    [{ says: { ResultCode: '0814' } }],
  ],
  [
    'a pending version with results is handed over though its final callback has to be redelivered',
    { says: [underReview] },
    '0 ask, 2001 ask, 2001 hand pending 0814, 2001 503 pending',
  ],
  [
    'the status is never asked for a third time: too old, then pending',
    { says: [{ at: -10_001 }, pending] },
    '0 ask, 2001 ask, 2001 503 pending',
  ],
  [
    'the status is never asked for a third time: pending, then too old',
    { says: [pending, { at: -10_001 }] },
    '0 ask, 2001 ask, 2001 503 stale',
  ],
  [
    'the status is never asked for a third time: too old, then known',
    { says: [{}, { at: -10_001 }, { at: 3_000 }] },
    `${accepted}, 1000 ask, 3001 ask, 3001 200 repeat`,
    [{}, 1_000, { at: 1_500 }],
  ],
  [
    'a request that fails is not retried',
    { says: [unavailable, succeeded] },
    '0 ask, 0 503 server, 1000 ask, 1000 hand, 1000 200 accepted',
    [{}, 1_000, {}],
  ],
  [
    'a change that onEvent rejected is new at the next delivery',
    { onEvent: (call) => (call === 1 ? away() : undefined) },
    '0 ask, 0 hand, 0 500 handler, 1000 ask, 1000 hand, 1000 200 accepted, 3000 ask, 3000 200 repeat',
    [{}, 1_000, {}, 2_000, {}],
  ],
  [
    'a final callback whose pending version onEvent rejects gets 500',
    { says: [underReview], onEvent: away },
    '0 ask, 2001 ask, 2001 hand pending 0814, 2001 500 handler',
  ],
  [
    'a status with our own timestamp is never too old for the hint, and a known version is always asked for once more',
    { client: { wire: { echoesTimestamp: true } }, says: [{ at: -60_000 }, {}] },
    `${accepted}, 4000 ask, 6001 ask, 6001 200 repeat`,
    [{}, 4_000, {}],
  ],
];

for (const [what, setup, log, steps] of sequences) {
  test(what, async () => {
    expect(await startHandler(setup).run(steps)).toBe(log);
  });
}

test('the error about a job that stays pending has its last status', async () => {
  const { run, errors } = startHandler({ says: [pending] });

  await run([{}]);

  expect(errors).toMatchObject([
    {
      error: {
        name: 'HostedPollTimeoutError',
        job: { userId: 'user-1', jobId: 'job-1' },
        lastStatus: { state: 'pending' },
        elapsedMs: 2_000,
        operation: 'jobs.status',
        attempts: 2,
        retryable: true,
        message: 'Cannot receive a callback: it is marked as final, but the job is still pending',
      },
      at: { phase: 'confirm', status: 503, event: { userId: 'user-1', isFinal: true } },
    },
  ]);
});
