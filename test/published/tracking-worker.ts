// A process that works: started and killed by tracking.ts.

import process from 'node:process';
import { HostedClient } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';

const { DATABASE_URL = '', SERVICE_URL = '', API_KEY = '', RATE = '400' } = process.env;
const client = new HostedClient({ partnerId: '085', apiKey: API_KEY, baseUrls: { sandbox: SERVICE_URL } });

async function open() {
  for (;;) {
    try {
      return await createTracker({
        client,
        connectionString: DATABASE_URL,
        maxRequestsPerSecond: Number(RATE),
        concurrency: 50,
        minDelayMs: 2_000,
        maxDelayMs: 10_000,
        handlerTimeoutMs: 5_000,
        logger: console,
      });
    } catch (error) {
      // The database may be restarting.
      console.error(String(error));
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

const tracker = await open();
await tracker.onCompletion(async (completion) => {
  const { key, job, context, outcome, attempt } = completion;
  const state = completion.outcome === 'completed' ? completion.status.state : null;
  const isSigned = completion.outcome === 'completed' && completion.status.signedAt !== null;
  const body = JSON.stringify({ key, job, context, outcome, attempt, state, isSigned });
  const response = await fetch(`${SERVICE_URL}/delivered`, { method: 'POST', body });
  if (!response.ok) throw new Error('three in a hundred handlers throw');
});
process.on('SIGTERM', () => void tracker.stop().then(() => process.exit()));
