/** Job status as one operation: what is asked for, and which responses are about another job. */

import { HostedResponseError } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, rejection, signed } from '../support/fake-fetch.js';

const job = { userId: 'user-1', jobId: 'job-1' };

const notAsked = 'must be the id of the requested job';
const notNamed = 'must be at the top of the response or in "result.PartnerParams", because the job has succeeded';

test.each([
  [{ user_id: 'user-2', job_id: 'job-1' }, [{ path: 'user_id', message: notAsked }]],
  [{ user_id: 'user-1', job_id: 'job-2' }, [{ path: 'job_id', message: notAsked }]],
  [
    { user_id: 'user-1', job_id: 'job-1', result: { PartnerParams: { user_id: 'user-2', job_id: 'job-2' } } },
    [
      { path: 'result.PartnerParams.user_id', message: notAsked },
      { path: 'result.PartnerParams.job_id', message: notAsked },
    ],
  ],
  [
    {},
    [
      { path: 'user_id', message: notNamed },
      { path: 'job_id', message: notNamed },
    ],
  ],
])('a success that says it is about %j is a mismatch', async (record, issues) => {
  const { client } = clientOf(signed({ job_complete: true, job_success: true, ...record }));

  const error = await rejection(client.jobs.status(job), HostedResponseError);

  expect(error).toMatchObject({ reason: 'mismatch', issues });
});

const named = { user_id: 'user-1', job_id: 'job-1', job_complete: true };

test.each([['2302'], [2302], [''], [null], [undefined]])('a success with the code %j is one', async (code) => {
  const { client } = clientOf(signed({ ...named, job_success: true, code }));

  expect(await client.jobs.status(job)).toMatchObject({ state: 'succeeded', success: true });
});

test.each(['2307', 2310, '2314', '2399', '0810', '0', '02302', '2302 ', 'REVIEW'])(
  'a success with the code %j is a mismatch, and a job that failed or is pending may have it',
  async (code) => {
    const failed = { ...named, job_success: false, code };
    const pending = { ...named, job_complete: false, job_success: true, code };
    const { client } = clientOf([signed({ ...named, job_success: true, code }), signed(failed), signed(pending)]);

    const error = await rejection(client.jobs.status(job), HostedResponseError);

    const message = 'must be 2302 or missing, because the job has succeeded';
    expect(error).toMatchObject({ reason: 'mismatch', issues: [{ path: 'code', message }] });
    expect(await client.jobs.status(job)).toMatchObject({ state: 'failed', code: String(code) });
    expect(await client.jobs.status(job)).toMatchObject({ state: 'pending', code: String(code) });
  },
);

test.each([
  ['boolean', true],
  ['string', 'true'],
] as const)(
  'what is asked for is written as a %s where wire.jobFlags says so, and else left out',
  async (jobFlags, flag) => {
    const { client, sent } = clientOf(signed({ job_complete: false }), { wire: { jobFlags } });

    await client.jobs.status({ ...job, imageLinks: true, history: true });
    await client.jobs.status({ ...job, imageLinks: false, history: false });

    const [asked, plain] = sent.map(({ body: { image_links, history } }) => [image_links, history]);
    expect([asked, plain]).toEqual([
      [flag, flag],
      [undefined, undefined],
    ]);
  },
);
