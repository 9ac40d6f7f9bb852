/** Calls the testing kit in memory or a sandbox on loopback, and measures time or memory. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { HostedClient } from 'hosted-client';
import type { Sandbox } from 'hosted-client/sandbox';
import { type Block, type BlockSettings, measureCalls, measureHeap } from './block.ts';

export interface SandboxSettings {
  /** The number of calls in one turn. */
  readonly times: number;
  readonly measures: 'wall' | 'memory';
}

const newLink = { companyName: 'A', dataPrivacyPolicyUrl: 'https://partner.example/privacy', callbackUrl: null };

export async function prepare({ variant, dist, times, measures }: SandboxSettings & BlockSettings): Promise<Block> {
  const load = (entry: string) => import(pathToFileURL(join(dist, entry)).href);
  const { HostedClient } = (await load('index.js')) as typeof import('hosted-client');
  const client = new HostedClient(
    variant === 'kit' ? await optionsOfKit(load) : (await startedBy(load)).clientOptions(),
  );
  const call = await createCall(client);
  for (let count = 0; count < times / 2; count++) await call();
  return async () => {
    const { wall } = await measureCalls(times, call);
    if (measures === 'wall') return { wall };
    const heap = await measureHeap();
    return { heap, resident: process.memoryUsage().rss };
  };
}

type Load = (entry: string) => Promise<unknown>;

async function optionsOfKit(load: Load): Promise<ConstructorParameters<typeof HostedClient>[0]> {
  const { createMockService } = (await load('testing/index.js')) as typeof import('hosted-client/testing');
  const { sandbox, fetch } = createMockService();
  return { ...sandbox.clientOptions, fetch };
}

async function startedBy(load: Load): Promise<Sandbox> {
  const { startSandbox } = (await load('sandbox/index.js')) as typeof import('hosted-client/sandbox');
  return startSandbox({ port: 0 });
}

async function createCall(client: HostedClient): Promise<() => Promise<unknown>> {
  const { refId } = await client.links.create(newLink);
  return () => client.links.get(refId);
}
