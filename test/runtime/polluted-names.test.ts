// Names that JavaScript itself reads of all objects, and that no other test may therefore pollute for long.

import { expect, onTestFinished, test } from 'vitest';
import { clientOf, rejection, signed } from '../support/fake-fetch.js';

function pollute(name: string, value: unknown): void {
  Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  onTestFinished(() => {
    Reflect.deleteProperty(Object.prototype, name);
  });
}

test('a "value" that other code puts on all objects during a call is no status and no link', async () => {
  const polluting = (body: object) => () => {
    pollute('value', { state: 'succeeded', complete: true, success: true });
    return Response.json(body);
  };
  const ofAnother = signed({ job_complete: true, job_success: true, user_id: 'user-2', job_id: 'job-2' });
  const jobs = clientOf(polluting(ofAnother)).client.jobs;
  const links = clientOf(polluting({ link_url: 'https://links.hosted.test/2', ref_id: 'ref-2' })).client.links;

  const status = await rejection(jobs.status({ userId: 'user-1', jobId: 'job-1' }));
  Reflect.deleteProperty(Object.prototype, 'value');
  const link = await rejection(links.get('ref-1') as Promise<unknown>);

  expect([status, link]).toMatchObject([{ reason: 'mismatch' }, { reason: 'mismatch' }]);
});
