/**
 * Tracks jobs across deploys, with a web server and any number of workers that share one database. A customer's row
 * and the tracked job are written in one transaction. The verdict that was signed last is kept, even if completions are
 * handed over several times.
 *
 *     DATABASE_URL=… node track-jobs.ts web
 *     DATABASE_URL=… node track-jobs.ts worker      (as many as you like)
 */

import process, { argv, env } from 'node:process';
import { pathToFileURL } from 'node:url';
import express from 'express';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { type Completion, createTracker, type Tracker } from 'hosted-client/tracking';
import pg from 'pg';

/** The context that each completion brings back: our own id, and no personal data. */
type Context = { customer: number };

const pool = new pg.Pool({
  connectionString: env.DATABASE_URL,
  // A database can fail without closing its connections. Without these limits, a query would then wait for ever.
  connectionTimeoutMillis: 5_000,
  query_timeout: 30_000,
  keepAlive: true,
});
// Without a listener, the error of a broken connection would end the process.
const onBroken = (error: Error) => console.error(`a connection broke: ${error.message}`);
pool.on('error', onBroken);

/** Runs `work` in a transaction. */
async function inTransaction(work: (connection: pg.PoolClient) => Promise<unknown>): Promise<void> {
  const connection = await pool.connect();
  // The listener of the pool hears only the connections that are in the pool.
  connection.on('error', onBroken);
  let isBroken = true;
  try {
    // If this process vanishes before the commit, PostgreSQL releases its locks after ten seconds.
    await connection.query("begin; set local idle_in_transaction_session_timeout = '10s'");
    await work(connection);
    await connection.query('commit');
    isBroken = false;
  } finally {
    connection.off('error', onBroken);
    // After an error, the connection is closed, which also rolls back its transaction.
    connection.release(isBroken);
  }
}

/** Creates the tracker of a process, web server or worker. The tracker creates its own tables. */
export async function open(): Promise<Tracker<Context>> {
  await pool.query(`create table if not exists customers (id integer primary key, verified boolean, signed_at timestamptz);
    create table if not exists handled (key uuid primary key)`);
  return createTracker<Context>({ client: HostedClient.fromEnv(), pool });
}

/** The web server: it tracks jobs, and receives callbacks. */
export function createApp(tracker: Tracker<Context>): express.Express {
  const app = express();

  app.post('/callbacks', nodeHandler(tracker.handler()));

  app.post('/customers/:id/jobs', express.json(), async (request, response) => {
    const customer = Number(request.params.id);
    const { userId, jobId } = request.body;
    try {
      await inTransaction(async (connection) => {
        await connection.query('insert into customers (id) values ($1) on conflict do nothing', [customer]);
        await tracker.track({ userId, jobId, context: { customer } }, { db: connection });
      });
      response.sendStatus(202);
    } catch (error) {
      console.error(error);
      response.sendStatus(503);
    }
  });

  return app;
}

/**
 * Handles a completion in a worker. It may run several times for one completion, but it has its effect only once, because
 * it stores the completion's key in the same transaction. A verdict that changes later is a further completion.
 */
export async function decide(completion: Completion<Context>): Promise<void> {
  const status = completion.outcome === 'completed' ? completion.status : null;
  await inTransaction(async (connection) => {
    const { key, context } = completion;
    const added = await connection.query('insert into handled (key) values ($1) on conflict do nothing', [key]);
    if (added.rowCount === 1 && status) {
      await connection.query(
        'update customers set verified = $1, signed_at = $2 where id = $3 and (signed_at is null or signed_at < $2)',
        [status.success, status.signedAt, context?.customer],
      );
    }
  });
}

/** Ends the pool. Call it after the tracker has stopped. */
export const close = () => pool.end();

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const tracker = await open();
  const server = argv[2] === 'web' ? createApp(tracker).listen(3000) : null;
  if (server === null) await tracker.onCompletion(decide);
  process.on('SIGTERM', async () => {
    server?.close();
    await tracker.stop();
    await close();
  });
}
