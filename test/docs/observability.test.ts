/** docs/observability.md, held to its word: its blocks stand in an example or a test, and its tables are true. */

import { tracingChannel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { HostedClient, type HostedEvent } from 'hosted-client';
import { createMockService, createTestClock, createTestTracker } from 'hosted-client/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { recordingClock } from '../support/fake-fetch.js';
import { subscribeTo } from '../support/traced.js';

const page = readFileSync('docs/observability.md', 'utf8');

/** The names in backquotes in the last column of a table, by the name in its first. */
function tableOf(heading: string): Readonly<Record<string, readonly string[]>> {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter((line) => /^\| `/.test(line));
  return Object.fromEntries(
    rows.map((row) => {
      const cells = row.split(' | ');
      const names = [...(cells.at(-1) ?? '').replace(/\(.*?\)/g, '').matchAll(/`([^`]+)`/g)];
      return [/`([^`]+)`/.exec(cells[0] ?? '')?.[1] ?? '', names.map(([, name = '']) => name)];
    }),
  );
}

/** What the client reports of calls of every kind. */
async function runEverything(): Promise<readonly HostedEvent[]> {
  const service = createMockService();
  const events: HostedEvent[] = [];
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    fetch: service.fetch,
    clock: { ...recordingClock(), now: () => Date.now() },
    onEvent: (event) => events.push(event),
  });
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');
  service.sandbox.failNext('links.list', { kind: 'status', status: 503 });
  await client.links.list();
  await client.links.get('nobody').catch(() => undefined);
  await client.jobs.waitForCompletion(job);
  await service.sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ onEvent: () => undefined }) });
  return events;
}

/** Lets a tracker poll one job, and hand over its completion. */
async function runTracker(): Promise<void> {
  const clock = createTestClock();
  const service = createMockService({ clock });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, clock });
  const tracker = createTestTracker({ client, clock });
  await tracker.onCompletion(() => {});
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');
  await tracker.track(job);
  await tracker.drain();
  await tracker.stop();
}

const sorted = (tables: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(tables).map(([name, members]) => [name, [...members].sort()]));

test('the table of events names every type and its properties', async () => {
  const events = await runEverything();

  const properties = Object.fromEntries(events.map(({ type, ...rest }) => [type, Object.keys(rest)]));
  expect(sorted(tableOf('Events'))).toEqual(sorted(properties));
});

test('the table of channels names every one and its properties', async () => {
  const { seen } = subscribeTo('call', 'wait', 'callback', 'batch', 'delivery');

  await runEverything();
  await runTracker();

  const properties = Object.fromEntries(seen.map(({ channel, message }) => [channel, Object.keys(message)]));
  expect(sorted(tableOf('Tracing channels'))).toEqual(sorted(properties));
});

test('the block about channels does as it says', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  subscribeTo('call');
  const { asyncEnd } = tracingChannel('hosted-client:call');
  const subscribe = vi.spyOn(asyncEnd, 'subscribe');

  await import('../../examples/print-calls.ts');
  onTestFinished(() => {
    for (const call of subscribe.mock.calls) asyncEnd.unsubscribe(...call);
    subscribe.mockRestore();
  });
  await runEverything();

  expect(log.mock.calls[0]?.[0]).toMatchObject({ operation: 'links.list', attempts: 2, outcome: 'ok' });
  log.mockRestore();
});
