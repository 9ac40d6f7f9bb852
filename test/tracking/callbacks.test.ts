import type { HostedEvent } from 'hosted-client';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { createWorld } from './world.ts';

onOneDatabase((database) => {
  test('handler() reports the status that it responds with when a callback could not be stored', async () => {
    const events: HostedEvent[] = [];
    const world = createWorld(database, { onEvent: (event) => void events.push(event) });
    const connection = world.cut();
    const tracker = await world.open({ pool: connection.pool });
    connection.cut();

    const response = await world.service.jobs.deliverCallback(world.completeJob('approved'), { to: tracker.handler() });

    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'callback', result: 'failed', status: 503, reason: 'storage' }),
    );
  });
});
