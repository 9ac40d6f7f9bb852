/** undici's own fetch fits without a cast; its declarations ask for @types/node. */

import { type FetchInit, HostedClient, type HostedClientOptions } from 'hosted-client';
import { Agent, fetch as undiciFetch } from 'undici';

const dispatcher = new Agent();

export const fetches: readonly NonNullable<HostedClientOptions['fetch']>[] = [
  undiciFetch,
  (url, init) => undiciFetch(url, { ...init, dispatcher }),
  (url: string, init: FetchInit) => undiciFetch(url, { ...init, dispatcher }),
];

export const client = HostedClient.fromEnv({ fetch: undiciFetch });
