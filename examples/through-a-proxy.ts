/** Through a forward proxy: undici's own fetch, with an agent that reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */

import { HostedClient } from 'hosted-client';
import { EnvHttpProxyAgent, type RequestInit, fetch as undiciFetch } from 'undici';

// For one proxy that you name yourself: new ProxyAgent({ uri, token }).
const dispatcher = new EnvHttpProxyAgent();

const proxied = (url: string, init: RequestInit) => undiciFetch(url, { ...init, dispatcher });

const client = HostedClient.fromEnv({
  // It is the same function as the platform's, under types that are not quite the same.
  fetch: proxied as unknown as typeof fetch,
});

const { meta } = await client.links.list();
console.log(`${meta.totalCount} links, through the proxy`);
await dispatcher.close();
