/** A guard against replays that several processes share, in SQLite; any store with transactions will do. */

import { DatabaseSync } from 'node:sqlite';
import { HostedClient, type ReplayGuard } from 'hosted-client';

/** A process that died while it handled a callback holds it no longer than this. */
const leaseMs = 60_000;

export function sqliteReplayGuard(file: string): ReplayGuard {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS callbacks (
      key TEXT PRIMARY KEY, body TEXT NOT NULL, expires INTEGER NOT NULL, state TEXT NOT NULL, since INTEGER NOT NULL
    ) STRICT`);
  const drop = database.prepare('DELETE FROM callbacks WHERE expires <= ?');
  const find = database.prepare('SELECT body, state, since FROM callbacks WHERE key = ?');
  const put = database.prepare(
    "INSERT INTO callbacks VALUES (?, ?, ?, 'busy', ?) ON CONFLICT (key) DO UPDATE SET state = 'busy', since = excluded.since",
  );
  const mark = database.prepare('UPDATE callbacks SET state = ? WHERE key = ?');

  return {
    async begin(key, bodyDigest, expiresAt) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const now = Date.now();
        drop.run(now);
        const known = find.get(key);
        if (known && known.body !== bodyDigest) return 'conflict';
        if (known?.state === 'handled') return 'repeat';
        if (known?.state === 'busy' && Number(known.since) > now - leaseMs) return 'busy';
        put.run(key, bodyDigest, expiresAt.getTime(), now);
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
  confirm: true,
  onEvent: (event, status) => {
    console.log(`result ${event.id} is handled by one process: the job is ${status.state}`);
  },
});
