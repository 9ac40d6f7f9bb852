/**
 * Keeps the one tracker of a process on `globalThis`, because Next.js loads a module again after each change (hot
 * reload): each time, another tracker would begin to work beside those that are there.
 */

import { env } from 'node:process';
import { HostedClient } from 'hosted-client';
import { createTracker, type Tracker } from 'hosted-client/tracking';

async function open(): Promise<Tracker> {
  const tracker = await createTracker({ client: HostedClient.fromEnv(), connectionString: env.DATABASE_URL ?? '' });
  await tracker.onCompletion((completion) => {
    console.log(`${completion.key}: ${completion.outcome}`);
  });
  return tracker;
}

const kept = globalThis as typeof globalThis & { tracker?: Promise<Tracker> };

/** Resolves with the one tracker of this process. If it could not be created, the next call tries again. */
export function openTracker(): Promise<Tracker> {
  kept.tracker ??= open().catch((error: unknown) => {
    delete kept.tracker;
    throw error;
  });
  return kept.tracker;
}
