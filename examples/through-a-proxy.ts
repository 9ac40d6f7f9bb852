/** Sends calls through a forward proxy, with undici's fetch. Its agent reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */

import { type FetchInit, HostedClient } from 'hosted-client';
import { EnvHttpProxyAgent, fetch as undiciFetch } from 'undici';

// To name one proxy in the code instead, use new ProxyAgent({ uri, token }).
const dispatcher = new EnvHttpProxyAgent();

const proxied = (url: string, init: FetchInit) => undiciFetch(url, { ...init, dispatcher });

const client = HostedClient.fromEnv({ fetch: proxied });

const { meta } = await client.links.list();
console.log(`${meta.totalCount} links, through the proxy`);
await dispatcher.close();
