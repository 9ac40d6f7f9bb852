/** What an abort ends, at every step of a call: at once, with the signal's own reason, and nothing left behind. */

import { HostedClient } from 'hosted-client';
import { expect, test } from 'vitest';
import { apiKey, partnerId, rejection, sign } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

failOnStrayRejections();

const job = { userId: 'user-1', jobId: 'job-1' };
const reason = new Error('the caller has left');

/** A response of job status that was signed a second ago, under a signature of the caller's choice. */
function statusUnder(signature: (timestamp: string) => string) {
  const timestamp = new Date(Date.now() - 1_000).toISOString();
  const result = { ResultCode: '0810', PartnerParams: { user_id: job.userId, job_id: job.jobId } };
  return Response.json({ job_complete: true, job_success: true, result, timestamp, sec_key: signature(timestamp) });
}

test.each([
  ['cannot be trusted', () => 'Zm9yZ2Vk'],
  ['is good', sign],
])('an abort as the response comes rejects with its reason, also where the response %s', async (_what, signature) => {
  const ending = new AbortController();
  const client = new HostedClient({
    partnerId,
    apiKey,
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: async () => statusUnder(signature),
    onEvent: ({ type }) => {
      if (type === 'response') ending.abort(reason);
    },
  });

  expect(await rejection(client.jobs.status(job, { signal: ending.signal }))).toBe(reason);
});

test('a fetch of the caller’s own is given headers that it can change', async () => {
  const seen: (string | null)[] = [];
  const client = new HostedClient({
    partnerId,
    apiKey,
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: async (_url, init) => {
      init.headers['x-trace'] = '1';
      seen.push(init.headers['content-type'] ?? null, init.headers['x-trace']);
      return statusUnder(sign);
    },
  });

  await client.jobs.status(job);

  expect(seen).toEqual(['application/json', '1']);
});
