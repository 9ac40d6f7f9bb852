import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { createWaitingClock } from '../../src/runtime/clock.ts';
import { createMemoryStorage } from '../../src/tracking/memory/storage.ts';
import { readTestOptions } from '../../src/tracking/options.ts';
import { createServiceWorld } from './world.ts';

test('in memory, no job is followed for a link whose row has gone', async () => {
  const clock = createTestClock();
  const { client } = createServiceWorld({ clock });
  const { settings } = readTestOptions({ client, clock });
  const { database, statements } = createMemoryStorage(settings, createWaitingClock(clock), () => 0.5);
  await database.run(statements.storeCallback, ['key of a job', 'user', 'job', null, null, clock.now(), 8]);

  await database.run(statements.adopt, ['key of a link']);

  expect(await database.run(statements.get, ['key of a job'])).toMatchObject([{ state: 0, due: null }]);
});
