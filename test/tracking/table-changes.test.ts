/** A version with two changes of the tables: each is one step, and a migration goes on where another one ended. */

import { migrateTracking } from 'hosted-client/tracking';
import { expect, test, vi } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { createWorld, startWorker, until } from './world.ts';

vi.mock('../../src/tracking/schema/table-changes.ts', () => ({
  neededVersion: 2,
  changes: [
    (schema: string) => [`alter table ${schema}.tracked add column first_note text`],
    (schema: string) => [
      `alter table ${schema}.tracked add column second_note text`,
      `create index tracked_second_note on ${schema}.tracked (second_note)`,
    ],
  ],
}));

onOneDatabase((database) => {
  test('new tables have the newest version', async () => {
    const world = createWorld(database);

    await world.open();

    expect(await world.rows('select version from FLEET')).toEqual([{ version: 3 }]);
    expect(await world.rows('select first_note, second_note from TRACKED')).toEqual([]);
  });

  test('a migration that breaks off keeps the steps that were done, and the next one does the rest', async () => {
    const { schema, ...world } = createWorld(database);
    const before = await world.open();
    await world.rows('alter table TRACKED drop column first_note, drop column second_note');
    await world.rows('update FLEET set version = 1');
    await before.track({ userId: 'u', jobId: 'j' });
    await expect(world.open()).rejects.toMatchObject({ reason: 'not_migrated' });
    const plan = await migrateTracking({ pool: database.pool, schema });
    expect(plan).toMatchObject({ from: 1, to: 3 });
    expect(plan.sql).toHaveLength(2);

    // The second step fails, because another index has its name.
    await world.rows(`create index tracked_second_note on TRACKED (user_id)`);
    await expect(migrateTracking({ pool: database.pool, schema, apply: true })).rejects.toMatchObject({
      code: 'storage',
    });
    expect(await world.rows('select version from FLEET')).toEqual([{ version: 2 }]);
    expect((await migrateTracking({ pool: database.pool, schema })).sql).toHaveLength(1);
    await database.pool.query(`drop index ${schema}.tracked_second_note`);
    await migrateTracking({ pool: database.pool, schema, apply: true });

    expect(await world.rows('select version from FLEET')).toEqual([{ version: 3 }]);
    const { tracker, completions } = await startWorker(world);
    await tracker.track(world.completeJob('approved'));
    await until(() => completions.length === 1);
  });
});
