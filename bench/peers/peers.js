/** The same requests by what else one would pick. None of them signs, verifies or decodes. */

import axios from 'axios';
import ky from 'ky';
import OpenAI from 'openai';
import Stripe from 'stripe';

/** What each does with a request for `path` and a body; `fetch` is theirs to use where they take one. */
export function peersOver(baseUrl, fetch) {
  const { hostname, port, protocol } = new URL(baseUrl);
  const stripe = new Stripe('sk_test_bench', {
    host: hostname,
    port: port || 443,
    protocol: protocol.slice(0, -1),
    httpClient: Stripe.createFetchHttpClient(fetch),
    maxNetworkRetries: 0,
    telemetry: false,
  });
  const openai = new OpenAI({ apiKey: 'bench', baseURL: baseUrl, fetch, maxRetries: 0 });
  const viaAxios = axios.create({ baseURL: baseUrl, adapter: 'fetch', env: { fetch } });
  return {
    ky: (path, body) => ky.post(baseUrl + path, { json: body, fetch, retry: 0, timeout: false }).json(),
    stripe: (path, body) => stripe.rawRequest('POST', path, body),
    openai: (path, body) => openai.post(path, { body }),
    axios: (path, body) => viaAxios.post(path, body).then(({ data }) => data),
  };
}
