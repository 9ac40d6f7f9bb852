// A process of the runs in tracking.ts, upgrade.ts and tracking-soak.ts: it works, and is killed again and again; or it is
// the web server, which tracks and receives.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import process from 'node:process';
import { HostedClient } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';
import pg from 'pg';
import { refuseNames } from '../support/postgresql-places.ts';

const {
  DATABASE_URL = '',
  SERVICE_URL = '',
  API_KEY = '',
  RATE = '400',
  WEB_PORT,
  FOLDER,
  DELIVERED,
  WITHOUT_NAMES,
  OPTIONS = '{}',
} = process.env;
const client = new HostedClient({ partnerId: '085', apiKey: API_KEY, baseUrls: { sandbox: SERVICE_URL } });
const own = new pg.Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 20_000 });
own.on('error', () => {});
const pool = WITHOUT_NAMES ? refuseNames(own) : null;

async function open() {
  for (;;) {
    try {
      return await createTracker<{ n: number }>({
        client,
        ...(FOLDER ? { folder: FOLDER } : pool ? { pool } : { connectionString: DATABASE_URL }),
        maxRequestsPerSecond: Number(RATE),
        concurrency: 40,
        handlerTimeoutMs: 5_000,
        logger: console,
        ...JSON.parse(OPTIONS),
      });
    } catch (error) {
      // The database may be restarting.
      console.error(String(error));
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

const tracker = await open();
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
process.on('disconnect', () => process.exit());
process.channel?.unref();
// One process alone may have a folder: it does both.
if (WEB_PORT) serve();
if (!WEB_PORT || FOLDER) await work();

async function work(): Promise<void> {
  // Nothing else ends the process: whatever stop() left open would keep it.
  process.once('SIGTERM', () => void tracker.stop());
  await tracker.onCompletion(async (completion) => {
    const { key, job, context, outcome, attempt } = completion;
    const state = completion.outcome === 'completed' ? completion.status.state : null;
    const isSigned = completion.outcome === 'completed' && completion.status.signedAt !== null;
    const body = JSON.stringify({ key, job, context, outcome, attempt, state, isSigned, at: Date.now() });
    if (DELIVERED) {
      if (Math.random() < 0.01) throw new Error('one in a hundred handlers throws');
      appendFileSync(DELIVERED, `${body}\n`);
      return;
    }
    const response = await fetch(`${SERVICE_URL}/delivered`, { method: 'POST', body });
    if (!response.ok) throw new Error('three in a hundred handlers throw');
  });
}

function serve(): void {
  const handle = tracker.handler();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (request.url === '/callbacks') {
      const { status } = await handle(new Request('http://web.test/callbacks', { method: 'POST', body }));
      response.writeHead(status).end();
      return;
    }
    try {
      const result = request.url === '/stats' ? await tracker.stats() : await tracker.track(JSON.parse(String(body)));
      response.end(JSON.stringify(result));
    } catch (error) {
      response.writeHead((error as { code?: string }).code === 'storage' ? 503 : 500).end();
    }
  });
  server.listen(Number(WEB_PORT), '127.0.0.1');
}
