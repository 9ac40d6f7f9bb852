// Runs tests on the databases of tracking.

import { afterAll, beforeAll, describe } from 'vitest';
import { type Database, databases, programs } from '../tracking/databases.ts';

/** A database of the tests that are defined with it: it is open while they run. */
export interface OpenedDatabase extends Pick<Database, 'pool' | 'connectionString'> {
  readonly name: string;
}

/** Defines tests on PGlite and on PostgreSQL: those of what the two could do differently. */
export function onEachDatabase(define: (database: OpenedDatabase) => void): void {
  for (const { name } of databases) on(name, define);
}

/** Defines tests on PostgreSQL where one is installed, and otherwise on PGlite. */
export function onOneDatabase(define: (database: OpenedDatabase) => void): void {
  on(programs === null ? 'PGlite' : 'PostgreSQL', define);
}

function on(wanted: string, define: (database: OpenedDatabase) => void): void {
  for (const { name, tags, open } of databases.filter((database) => database.name === wanted)) {
    describe(`on ${name}`, { tags }, () => {
      let opened: Database;
      beforeAll(async () => {
        opened = await open();
      }, 60_000);
      afterAll(() => opened.close());
      define({
        name,
        get pool() {
          return opened.pool;
        },
        get connectionString() {
          return opened.connectionString;
        },
      });
    });
  }
}
