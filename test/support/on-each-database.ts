// Runs tests on every database of tracking.

import { afterAll, beforeAll, describe } from 'vitest';
import { type Database, databases } from '../tracking/databases.ts';

/** A database of the tests that are defined with it: it is open while they run. */
export interface OpenedDatabase extends Pick<Database, 'pool' | 'connectionString'> {
  readonly name: string;
}

/** Defines tests on PGlite, and on a PostgreSQL where one is installed. */
export function onEachDatabase(define: (database: OpenedDatabase) => void): void {
  describe.each(databases)('on $name', ({ name, open }) => {
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
