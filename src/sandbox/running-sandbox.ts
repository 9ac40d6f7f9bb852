/**
 * A running sandbox: the service, the simulation around it, and the state of both.
 *
 * @module
 */

import { createHmac, randomInt } from 'node:crypto';
import { ignoreErrors } from '../events.js';
import { type Environment, environments, forEachEnvironment } from '../options.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { lazy } from '../runtime/lazy.js';
import { withoutUndefined } from '../runtime/untrusted-objects.js';
import type { Signer } from '../signing/signer.js';
import { createRandom } from '../testing/random.js';
import { createRunningService, type RunningService } from '../testing/running-service.js';
import { writeSaved } from '../testing/saved-text.js';
import type { MockService } from '../testing/types.js';
import { type Callbacks, createCallbacks } from './callbacks.js';
import { health } from './health.js';
import type { HttpServer, ReceivedRequest } from './http-server.js';
import { checkInput, createInputError, environmentInput, playInput } from './input.js';
import type { Keeper } from './keep.js';
import { createKeptBodies, maskSecrets, readBody, readReasonCode } from './kept-bodies.js';
import type { KeptCallback, KeptState } from './kept-state.js';
import { findNetworkAddress, isAnyAddress, toHostName } from './network-address.js';
import type { SandboxSettings } from './options.js';
import { hasPicture } from './outcomes.js';
import { callbackUserAgent, createRequestCheck, isFromPage, maxBodyBytes } from './request-check.js';
import { createServiceHandler, environmentOf } from './service-handler.js';
import type { SigningFacts } from './signing-mistakes.js';
import { createSimulation, type Simulation } from './simulation.js';
import type { Sandbox, SandboxRequest } from './types.js';
import { createWork } from './work.js';

// The code that posts callbacks is loaded with the first callback, so that a sandbox starts fast.
const loadPosting = lazy(() => import('./post-callback.js'));

// jest and bundlers turn it into CommonJS, which has no `import.meta`. The sandbox can do without it.
const loadDescription = () =>
  import('./description.js').then(({ readDescription }) => readDescription()).catch(() => null);

/** How many bytes of bodies are kept: requests, responses and callbacks together. */
const maxKeptBytes = 8_000_000;

/** Creates a sandbox that responds to the requests of a server. It is empty, or has the saved state. */
export function createRunningSandbox(settings: SandboxSettings, server: HttpServer, keeper: Keeper | null): Sandbox {
  const { host, keepRequests, failureRate } = settings;
  // Another seed at each start: to a receiver that kept running, the ids of an earlier sandbox are known.
  const seed = settings.seed ?? randomInt(2 ** 48 - 1);
  const { port } = server;
  const kept = keeper?.kept ?? null;
  const isForOthers = isAnyAddress(host);
  const origin = `http://${isForOthers ? '127.0.0.1' : toHostName(host)}:${port}`;
  // Clients use http only on loopback, but end users may open links on other machines.
  const networkAddress = isForOthers ? findNetworkAddress() : null;
  const linkOrigin = networkAddress === null ? origin : `http://${networkAddress}:${port}`;
  /** Counts the changes that pages show. */
  let revision = 0;
  const changed = (): void => {
    keeper?.changed(write);
    revision += 1;
  };
  const running: RunningService = createRunningService(
    {
      ...settings,
      seed,
      baseUrls: { ...forEachEnvironment((name) => `${origin}/${name}`), ...withoutUndefined(settings.baseUrls ?? {}) },
      linkBaseUrl: settings.linkBaseUrl ?? `${linkOrigin}/links`,
    },
    {
      onChange: changed,
      // A killed process has given out ids that were not saved, so only a given seed goes on from a saved position.
      nextIdsFrom: ({ saved, last }) => (settings.seed === undefined ? last : (saved ?? last)),
    },
  );
  const { service } = running;
  const baseUrls = forEachEnvironment((name) => service[name].baseUrl);
  const bodies = createKeptBodies(settings.keepBodies ? maxKeptBytes : 0);
  const requests: SandboxRequest[] = [];
  let forgotten = 0;
  let lastRequestId = kept?.lastRequestId ?? 0;
  let work = createWork();
  const random = createRandom(seed, 'failures', kept?.failures);

  const storeOf = (environment: Environment) => running.environments[environment].context().store;
  // One filler for the pictures of all callbacks.
  const filler = Buffer.alloc(settings.callbackBytes, 'A');
  const callbacks: Callbacks = createCallbacks({
    options: settings,
    work: () => work,
    storeOf,
    isConfirmed: (environment, job) => simulation.isConfirmed(environment, job),
    async post(callback, url, signal) {
      const { id, attempts } = callback.view;
      const { body, sent, secrets } = await writeCallback(service, callback, filler);
      const size = body.reduce((sum, { length }) => sum + length, 0);
      const headers = `content-type: application/json\ncontent-length: ${size}\nuser-agent: ${callbackUserAgent}`;
      bodies.put(`callback ${id}`, { sent, headers: `host: ${new URL(url).host}\n${headers}` });
      const { postCallback } = await loadPosting();
      const result = await postCallback({ url, body, signal, callbackHosts: settings.callbackHosts, ownPort: port });
      const response = readBody(result.response ?? '');
      const query = [...new URL(url).searchParams].map(([name, value]) => value || name);
      const all = [...secrets, ...query, ...response.secrets, ...Object.values(signing.apiKeys ?? {})];
      const responded = maskSecrets(response.text, all);
      // A reset has removed the callback, and its texts.
      if (!signal.aborted) bodies.put(`callback ${id}`, { [`response ${attempts.length}`]: responded });
      const code = readReasonCode(responded);
      const isNamed = result.status !== null && result.problem !== null && code !== undefined;
      return isNamed ? { ...result, problem: `${result.problem} (${code})` } : result;
    },
    onAttempt: (callback) => ignoreErrors(() => settings.onCallback?.(callback)),
    onForget(id) {
      bodies.remove(`callback ${id}`);
      forgotten += 1;
    },
    onChange: changed,
  });
  const simulation: Simulation = createSimulation({
    running,
    callbacks,
    reviewMs: settings.reviewMs,
    work: () => work,
    onChange: changed,
  });

  const signing = createSigningFacts(running);
  const serviceHandler = createServiceHandler({
    running,
    origin,
    signing,
    isKept: keeper !== null,
    isFailing: () => failureRate > 0 && random.fraction() < failureRate,
    onRequest(request, writeTexts) {
      lastRequestId += 1;
      const entry = { id: lastRequestId, ...request };
      if (settings.keepBodies) bodies.put(`request ${entry.id}`, writeTexts());
      requests.push(entry);
      for (const { id } of requests.splice(0, Math.max(0, requests.length - keepRequests))) {
        bodies.remove(`request ${id}`);
        forgotten += 1;
      }
      const { environment, job, status, fault } = request;
      if (job !== null && status === 200 && fault === null) simulation.confirm(environment, job);
      revision += 1;
      // `failureRate` uses a sequence of random numbers, and the position in it is part of the saved state. A request
      // moves this position, so the state must be saved again.
      if (failureRate > 0) keeper?.changed(write);
      ignoreErrors(() => settings.onRequest?.(entry));
      return entry;
    },
  });

  const sandbox: Sandbox = {
    origin,
    baseUrls,
    service,
    requests,
    callbacks: callbacks.list,
    clientOptions(environment = 'sandbox') {
      checkInput(environmentInput, { environment }, 'give the options of a client');
      const { clientOptions } = service[environment];
      return { ...clientOptions, baseUrls: { ...clientOptions.baseUrls } };
    },
    async play(refId, outcome, { environment: given, idType } = {}) {
      const input = checkInput(playInput, { refId, outcome, environment: given, idType }, 'play an outcome');
      const { environment = 'sandbox' } = input;
      return simulation.play(input.refId ?? '', input.outcome, { environment, idType: input.idType });
    },
    resend: callbacks.resend,
    retryNow: callbacks.retryNow,
    stopTrying: callbacks.stopTrying,
    get faults() {
      return environments.flatMap((environment) =>
        running.environments[environment]
          .context()
          .faults.all()
          .map((fault) => ({ environment, ...fault })),
      );
    },
    cancelFault(id) {
      const isCancelled = environments.some((name) => running.environments[name].context().faults.cancel(id));
      if (!isCancelled) throw createInputError('id', 'must be the id of a waiting fault', 'cancel a fault');
    },
    async replay(requestId) {
      const before = requests.find(({ id }) => id === requestId);
      const sent = bodies.sentOf(`request ${requestId}`);
      if (before !== undefined && sent !== undefined) return serviceHandler.send(before, sent);
      const expected = before === undefined ? 'that is remembered' : 'whose body is kept: see the option "keepBodies"';
      throw createInputError('requestId', `must be the id of a request ${expected}`, 'replay a request');
    },
    idle: () => work.idle(),
    async reset() {
      const before = work;
      work = createWork();
      await before.stop();
      callbacks.clear();
      simulation.clear();
      requests.length = 0;
      bodies.clear();
      forgotten = 0;
      service.reset();
      changed();
    },
    async stop() {
      await work.stop();
      await server.close();
      await keeper?.close(write);
    },
  };

  function write(): string {
    const state: KeptState = {
      service: service.save(),
      ...callbacks.state(),
      ...simulation.state(),
      lastRequestId,
      failures: random.position,
    };
    return writeSaved('sandbox', state);
  }

  if (kept !== null) {
    service.restore(kept.service);
    callbacks.restore(kept);
    simulation.restore(kept);
  }

  const loadApp = lazy(async () =>
    (await import('./app.js')).createApp({
      sandbox,
      running,
      simulation,
      revision: () => revision,
      signing,
      bodies,
      send: serviceHandler.send,
      findReceiver: callbacks.findReceiver,
      forgotten: () => forgotten,
      description: await loadDescription(),
    }),
  );
  const check = createRequestCheck(settings, port);
  server.serve({
    maxBodyBytes,
    check(message) {
      const rejection = check(message);
      // A foreign page must not be able to fill the list of requests.
      return rejection && !isFromPage(message) ? serviceHandler.reject(rejection, message) : rejection;
    },
    onTooLarge: serviceHandler.reject,
    async respond(request) {
      const { method, target } = request;
      if ((method === 'GET' || method === 'HEAD') && target === '/health') return health;
      const environment = environmentOf(target);
      if (environment !== undefined) return serviceHandler.respond(environment, request);
      const hint = serviceHandler.recordStray(request);
      const response = await (await loadApp()).fetch(toWebRequest(request, origin));
      for (const [name, value] of Object.entries(hint)) response.headers.set(name, value);
      return response;
    },
  });
  return sandbox;
}

function toWebRequest({ method, target, headers, body, signal }: ReceivedRequest, origin: string): Request {
  const own = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []));
  const hasBody = method !== 'GET' && method !== 'HEAD';
  // The target of OPTIONS may be `*`.
  const url = target.startsWith('/') ? origin + target : origin;
  const text = hasBody ? { body: new Uint8Array(body) } : {};
  return new Request(url, { method, headers: own as [string, string][], signal, ...text });
}

/** Writes the signed body of a callback, in parts, and its text without the signature and the picture. */
async function writeCallback(service: MockService, { view, entry }: KeptCallback, filler: Buffer) {
  const { variant, environment, job, resultCode } = view;
  const request = await service[environment].jobs.callback(job, { entry, ...(variant && { variant }) });
  const text = await request.text();
  const written = Buffer.from(text);
  const { secrets, text: sent } = readBody(text);
  // The body is an object with a signature, so it ends with a bracket, and has other properties.
  const [start, end] = [',"Photo":"', '"}'].map((part) => Buffer.from(part)) as [Buffer, Buffer];
  const size = hasPicture(resultCode) ? filler.length - (written.length - 1) - start.length - end.length : 0;
  if (size <= 0) return { body: [written], sent, secrets };
  const picture = `,"Photo":"(${size.toLocaleString('en')} characters)"}`;
  const body = [written.subarray(0, -1), start, filler.subarray(0, size), end];
  return { body, sent: sent.slice(0, -1) + picture, secrets };
}

function createSigningFacts({ service, wire }: RunningService): SigningFacts {
  const { partnerId, apiKey } = service.sandbox.clientOptions;
  // With Ed25519, there are no keys to show.
  const apiKeys = apiKey === undefined ? null : forEachEnvironment((name) => service[name].clientOptions.apiKey);
  return {
    partnerId,
    wire,
    apiKeys,
    async sign(environment, timestamp, partner) {
      if (apiKeys === null) {
        // Ed25519 always gives the same signature for a text, so the client's signer gives the signature to expect.
        const { signer } = service[environment].clientOptions as { readonly signer?: Signer };
        return (await signer?.sign({ timestamp, partnerId: partner })) ?? '';
      }
      const text = timestamp + partner + assumedSignatureContext;
      return createHmac('sha256', apiKeys[environment]).update(text).digest('base64');
    },
  };
}
