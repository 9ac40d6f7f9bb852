// Runs a wait, a call that fails and a delivery inside workerd, which has `node:diagnostics_channel` by a flag: first
// without a subscriber of the tracing channels, then with one. Responds with what became of each, and what was seen.

import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';

const names = ['call', 'wait', 'callback'];
const store = new AsyncLocalStorage();

/** Collects what the channels publish at their ends; all that runs within has `'traced'` as its store. */
function subscribe() {
  const ends = [];
  for (const name of names) {
    const { start, asyncEnd } = tracingChannel(`hosted-client:${name}`);
    start.bindStore(store, () => 'traced');
    asyncEnd.subscribe(({ outcome, result, status, errorCode }) =>
      ends.push(`${name}: ${outcome ?? result} ${status ?? '-'} ${errorCode ?? '-'}`),
    );
  }
  return ends;
}

async function useClient(env) {
  const stores = [];
  // The platform's fetch, to the service of the bindings.
  const sent = (...given) => {
    stores.push(store.getStore() ?? null);
    return fetch(...given);
  };
  const client = HostedClient.fromEnv({ fetch: sent }, { env, lazy: true });
  const link = await client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://partner.example/privacy',
    callbackUrl: 'https://partner.example/callback',
  });
  const failure = await client.links.get('no-such-link').catch((error) => error);

  // A service within the worker, which makes the callback.
  const service = createMockService();
  const local = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');
  const { state } = await local.jobs.waitForCompletion(job);
  const events = [];
  const handle = local.callbacks.handler({ onEvent: () => events.push(store.getStore() ?? null) });
  const { status } = await handle(await service.sandbox.jobs.callback(job));
  return { created: link.refId !== '', failure: failure.code, state, status, stores, events };
}

export default {
  async fetch(_request, env) {
    const without = await useClient(env);
    const ends = subscribe();
    const withSubscribers = await useClient(env);
    return Response.json({ without, with: withSubscribers, ends });
  },
};
