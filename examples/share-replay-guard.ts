/** A replay guard in SQLite that several processes share. Any store with transactions works. */

import { DatabaseSync } from 'node:sqlite';
import { HostedClient, type ReplayGuard } from 'hosted-client';

export function sqliteReplayGuard(file: string): ReplayGuard {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS callbacks (
      key TEXT PRIMARY KEY, body TEXT NOT NULL, expires INTEGER NOT NULL, state TEXT NOT NULL, lease_ends INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS callbacks_expires ON callbacks (expires)`);
  const drop = database.prepare('DELETE FROM callbacks WHERE expires <= ?');
  const find = database.prepare('SELECT body, state, lease_ends FROM callbacks WHERE key = ?');
  const put = database.prepare(
    "INSERT INTO callbacks VALUES (?, ?, ?, 'busy', ?) ON CONFLICT (key) DO UPDATE SET state = 'busy', lease_ends = excluded.lease_ends",
  );
  const mark = database.prepare('UPDATE callbacks SET state = ? WHERE key = ?');

  return {
    async begin(key, bodyDigest, expiresAt, leaseEndsAt) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const now = Date.now();
        drop.run(now);
        const known = find.get(key);
        if (known && known.body !== bodyDigest) return 'conflict';
        if (known?.state === 'handled') return 'repeat';
        // If a process dies while it handles a callback, the callback counts as new when the lease has ended.
        if (known?.state === 'busy' && Number(known.lease_ends) > now) return 'busy';
        put.run(key, bodyDigest, expiresAt.getTime(), leaseEndsAt.getTime());
        return 'new';
      } finally {
        database.exec('COMMIT');
      }
    },
    async commit(key) {
      mark.run('handled', key);
    },
    async forget(key) {
      mark.run('failed', key);
    },
  };
}

const client = HostedClient.fromEnv();

export const POST = client.callbacks.handler({
  replayGuard: sqliteReplayGuard(process.env.CALLBACKS_DB ?? 'callbacks.db'),
  onEvent: (event, status) => {
    console.log(`result ${event.id} is handled by one process: the job is ${status.state}`);
  },
});
