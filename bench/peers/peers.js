/** Sends the requests of the bench with other packages. None of these packages signs, verifies or decodes. */

/** The packages by name. Each entry loads its package, and returns a function that posts with `baseUrl` and `fetch`. */
export const peers = {
  async ky(baseUrl, fetch) {
    const { default: ky } = await import('ky');
    return (path, body) => ky.post(baseUrl + path, { json: body, fetch, retry: 0, timeout: false }).json();
  },
  async stripe(baseUrl, fetch) {
    const { client, Jobs } = await loadStripe(baseUrl, fetch);
    return new Jobs(client).post;
  },
  // Uses stripe's default HTTP client on Node, which needs no `fetch`.
  async 'stripe, http'(baseUrl) {
    const { client, Jobs } = await loadStripe(baseUrl);
    return new Jobs(client).post;
  },
  // `rawRequest` calls an endpoint for which the package has no method.
  async 'stripe, raw'(baseUrl, fetch) {
    const { client } = await loadStripe(baseUrl, fetch);
    return (path, body) => client.rawRequest('POST', path, body);
  },
  async openai(baseUrl, fetch) {
    const { default: OpenAI } = await import('openai');
    const openai = new OpenAI({ apiKey: 'bench', baseURL: baseUrl, fetch, maxRetries: 0 });
    return (path, body) => openai.post(path, { body });
  },
  axios: (baseUrl, fetch) => axios(baseUrl, { adapter: 'fetch', env: { fetch } }),
  'axios, http': (baseUrl) => axios(baseUrl, { adapter: 'http' }),
};

async function loadStripe(baseUrl, fetch) {
  const { default: Stripe } = await import('stripe');
  const { hostname, port, protocol } = new URL(baseUrl);
  const client = new Stripe('sk_test_bench', {
    host: hostname,
    port: port || 443,
    protocol: protocol.slice(0, -1),
    ...(fetch && { httpClient: Stripe.createFetchHttpClient(fetch) }),
  });
  // A method of a resource, written like the methods of the package.
  class Jobs extends Stripe.StripeResource {
    post = (path, body) => this._makeRequest('POST', path, body);
  }
  return { client, Jobs };
}

async function axios(baseUrl, options) {
  const { default: axios } = await import('axios');
  const client = axios.create({ baseURL: baseUrl, ...options });
  return (path, body) => client.post(path, body).then(({ data }) => data);
}
