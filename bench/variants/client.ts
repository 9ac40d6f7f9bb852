/** A build of this package with its default options. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { HostedClient, HostedClientOptions } from 'hosted-client';
import { apiKey, job, partnerId } from '../service/fixtures.ts';
import type { Target } from '../service/target.ts';
import type { Variant } from './variant.ts';

/** Loads the package from the folder of a build. */
export async function loadBuild(dist: string): Promise<typeof import('hosted-client')> {
  return import(pathToFileURL(join(dist, 'index.js')).href);
}

/** Creates a client with a build. */
export async function createClient(
  dist: string,
  { baseUrl, fetch }: Target,
  options: Partial<HostedClientOptions> = {},
): Promise<HostedClient> {
  const { HostedClient } = await loadBuild(dist);
  const given = { partnerId, apiKey, baseUrls: { sandbox: baseUrl }, fetch, ...options };
  return new HostedClient(given as HostedClientOptions);
}

/** Creates a variant that calls a build's client. */
export async function clientVariant(dist: string, target: Target): Promise<Variant> {
  const client = await createClient(dist, target);
  return {
    isWhole: true,
    status: () => client.jobs.status(job),
    list: async () => client.links.list(),
    pages: (walk) => client.links.list(walk).pages(),
  };
}
