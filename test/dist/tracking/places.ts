/** Where a run has its database: the rows of the table "Where PostgreSQL lives" in docs/tracking.md, and a folder. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { migrateTracking, type SqlPool } from 'hosted-client/tracking';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import { createRole, grantRights } from '../../support/postgresql-places.ts';
import type { PlaceOptions } from './worker.ts';

/** A database of a run. */
export interface Base {
  readonly connectionString: string;
  readonly pool: SqlPool;
  /** A folder of the run. */
  readonly folder: string;
  /** Closes what a place has opened, in the end. */
  onClose(close: () => unknown): void;
}

const withRole = (settings: readonly string[]) => async (base: Base) => ({
  connectionString: await createRole(base, 'app', { settings }),
});

/** What each place is made of. */
export const places = {
  directly: async ({ connectionString }: Base) => ({ connectionString }),
  async pgbouncer({ connectionString, onClose }: Base) {
    const bouncer = await startPgBouncer(connectionString);
    onClose(bouncer.close);
    return { connectionString: bouncer.connectionString };
  },
  'own-pool': async ({ connectionString }: Base) => ({ connectionString, pool: 10 }),
  'without-names': async ({ connectionString }: Base) => ({ connectionString, pool: 10, withoutNames: true }),
  'pool-of-two': async ({ connectionString }: Base) => ({ connectionString, pool: 2 }),
  async 'without-rights'(base: Base) {
    await migrateTracking({ connectionString: base.connectionString, apply: true });
    const connectionString = await createRole(base, 'app', { mayCreate: false });
    await grantRights(base.pool, 'app', { page: new URL('../../../docs/tracking.md', import.meta.url) });
    return { connectionString, migrate: false };
  },
  'search-path': withRole(['search_path = nowhere']),
  serializable: withRole(['default_transaction_isolation = serializable']),
  async 'three-connections'(base: Base) {
    const connectionString = await createRole(base, 'app');
    await base.pool.query('alter role app connection limit 3');
    return { connectionString };
  },
  async folder({ folder, onClose }: Base) {
    const path = join(folder, 'tracked');
    onClose(() => rmSync(`${path}.lock`, { force: true }));
    return { folder: path };
  },
  memory: async () => ({ folder: 'memory://' }),
} satisfies Readonly<Record<string, (base: Base) => Promise<PlaceOptions>>>;

export type PlaceName = keyof typeof places;
