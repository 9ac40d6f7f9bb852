/** A wait on a test clock, to be loaded under the fake timers of a test runner: the state that it ends with. */

import { HostedClient } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';

export async function waitOnTestClock() {
  const clock = createTestClock();
  const { sandbox, fetch } = createMockService({ clock });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();
  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(60_000);
  sandbox.jobs.complete(job, 'approved');
  await clock.advance(60_000);
  return (await waited).state;
}
