// Every method, in every way that it is called, with every kind of error that it can give: whether the stack has
// the caller's function. One file that runs unchanged on each runtime, over what `hosted-client` is there.

import { HostedClient, isHostedError } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';

// The service ---------------------------------------------------------------

const partnerId = '085';
const signer = { name: 'constant', sign: () => 'signature', verify: (signature) => signature === 'signature' };

/** An answer of the service, signed now. */
const signed = (record) => ({ ...record, timestamp: new Date().toISOString(), sec_key: 'signature' });

const refusedBy = (status, body = {}) => ({ code: null, answer: () => Response.json(body, { status }) });

/**
 * The kinds of error: what the service answers, or which options of the client cause them. `when` says which
 * methods have it; without it, all that send a request. `wait`: the options of a wait.
 */
const failures = {
  config: { options: { signer: { ...signer, sign: () => 1 } } },
  connection: {
    answer: () => {
      throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } });
    },
  },
  timeout: { answer: () => new Promise(() => undefined), options: { timeoutMs: 1 } },
  'timeout (of the call)': { answer: () => new Promise(() => undefined), options: { totalTimeoutMs: 1 } },
  'timeout (status 408)': refusedBy(408),
  api: refusedBy(400),
  authentication: refusedBy(401),
  not_found: refusedBy(404),
  rate_limit: refusedBy(429),
  server: refusedBy(500),
  response: { answer: () => new Response('<html></html>') },
  signature: {
    answer: () => Response.json({ job_complete: false }),
    when: ({ signs }) => signs,
  },
  poll_timeout: {
    answer: () => Response.json(signed({ job_complete: false })),
    wait: { deadlineMs: 1 },
    when: ({ waits }) => waits,
  },
  validation: { when: ({ input }) => input !== undefined },
  'config (read with the first call)': {
    options: { partnerId: '' },
    when: ({ only, calledBy }, { isLazy }) => isLazy && only === undefined && calledBy === undefined,
  },
};

/** The failures of which nothing is sent. */
const beforeSending = ['validation', 'config (read with the first call)'];

const traceSteps = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

/** Subscribes to every tracing channel, as a tracer does; gives what ends it. */
function subscribe() {
  const { channel } = globalThis.process.getBuiltinModule('node:diagnostics_channel');
  const { AsyncLocalStorage } = globalThis.process.getBuiltinModule('node:async_hooks');
  const ends = [];
  for (const name of ['call', 'wait', 'callback']) {
    const start = channel(`tracing:hosted-client:${name}:start`);
    const store = new AsyncLocalStorage();
    start.bindStore(store, (message) => message);
    ends.push(() => start.unbindStore(store));
    for (const step of traceSteps) {
      const stepOf = channel(`tracing:hosted-client:${name}:${step}`);
      const subscriber = () => undefined;
      stepOf.subscribe(subscriber);
      ends.push(() => stepOf.unsubscribe(subscriber));
    }
  }
  return () => {
    for (const end of ends) end();
  };
}

/** How a client may be made, and whether a tracer observes it. */
const settings = [
  { name: 'plain', isLazy: false, isTraced: false },
  { name: 'lazy', isLazy: true, isTraced: false },
  { name: 'traced', isLazy: false, isTraced: true },
  { name: 'lazy and traced', isLazy: true, isTraced: true },
];

/** A client of a service that fails so: at once, or a turn of the event loop later. */
function clientOf({ answer, options }, isLate, { isLazy }) {
  const fetch = async () => {
    if (isLate) await new Promise((resolve) => setTimeout(resolve));
    return answer();
  };
  const given = {
    partnerId,
    signer,
    baseUrls: { sandbox: 'https://service.example' },
    fetch,
    maxRetries: 0,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    wire: { echoesTimestamp: true },
    ...options,
  };
  return isLazy ? HostedClient.fromEnv(given, { lazy: true, env: {} }) : new HostedClient(given);
}

const page = (currentPage) => {
  const links = [{ ref_id: `ref-${currentPage}`, link_url: 'https://links.example/1' }];
  return Response.json({ links, meta: { currentPage, limit: 1, totalCount: 9, totalPages: 9 } });
};

/** Answers the first page, and then fails. */
function afterFirstPage({ answer, options }) {
  let count = 0;
  const answerAfter = () => {
    count += 1;
    return count === 1 ? page(1) : answer();
  };
  return { answer: answerAfter, options };
}

// The ways to call ----------------------------------------------------------

const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: 'https://partner.example/callback',
};
const job = { userId: 'user-1', jobId: 'job-1' };
/** A wait that its first error ends. */
const waiting = { deadlineMs: 60_000, notFoundGraceMs: 0, maxConsecutiveErrors: 0 };

/** A delivery of a callback, which the service posted. */
const posted = (record) => JSON.stringify(signed(record));

/**
 * Each is called as `theCaller`, whose name is looked for. `input`: what makes it invalid. `signs`: its answers
 * must be signed. `waits`: it polls. `after`: the service answers one page before it fails. `calledBy`: the name of
 * the function that is looked for instead.
 */
export const shapes = {
  'links.create': {
    input: {},
    theCaller: async (client, input = newLink) => void (await client.links.create(input)),
  },
  'links.create, withResponse()': {
    input: {},
    theCaller: async (client, input = newLink) => void (await client.links.create(input).withResponse()),
  },
  'links.update': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await client.links.update(input, { isDisabled: true })),
  },
  'links.disable': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await client.links.disable(input)),
  },
  'links.get': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await client.links.get(input)),
  },
  'links.get, withResponse()': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await client.links.get(input).withResponse()),
  },
  'links.get, held and awaited later': {
    input: '',
    theCaller: async (client, input = 'ref-1') => {
      const call = client.links.get(input);
      await Promise.resolve();
      await call;
    },
  },
  'links.get, returned': {
    input: '',
    theCaller: async (client, input = 'ref-1') => {
      const inner = async () => client.links.get(input);
      await inner();
    },
  },
  'links.get, in Promise.all': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await Promise.all([client.links.get(input), 1])),
  },
  'links.get, in Promise.race': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await Promise.race([client.links.get(input)])),
  },
  'links.get, with then()': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await client.links.get(input).then((link) => link)),
  },
  'links.get, with catch()': {
    input: '',
    theCaller: async (client, input = 'ref-1') => {
      await client.links.get(input).catch((error) => {
        throw error;
      });
    },
  },
  'links.get, with finally()': {
    input: '',
    theCaller: async (client, input = 'ref-1') => void (await client.links.get(input).finally(() => undefined)),
  },
  'links.list, awaited': {
    input: -1,
    theCaller: async (client, page = 1) => void (await client.links.list({ page })),
  },
  'links.list, withResponse()': {
    input: -1,
    theCaller: async (client, page = 1) => void (await client.links.list({ page }).withResponse()),
  },
  'links.list, with then()': {
    theCaller: async (client) => void (await client.links.list().then((list) => list)),
  },
  'links.list, with catch()': {
    theCaller: async (client) => {
      await client.links.list().catch((error) => {
        throw error;
      });
    },
  },
  'links.list, with finally()': {
    theCaller: async (client) => void (await client.links.list().finally(() => undefined)),
  },
  'links.list, in Promise.all': {
    theCaller: async (client) => void (await Promise.all([client.links.list()])),
  },
  'links.list, iterated': {
    input: -1,
    theCaller: async (client, page = 1) => {
      for await (const _ of client.links.list({ page }));
    },
  },
  'links.list, iterated to the second page': {
    after: 'a page',
    theCaller: async (client) => {
      for await (const _ of client.links.list());
    },
  },
  'links.list, iterated with prefetch': {
    after: 'a page',
    theCaller: async (client) => {
      for await (const _ of client.links.list({ prefetch: 4 })) await new Promise((resolve) => setTimeout(resolve));
    },
  },
  'links.list, iterated by hand': {
    theCaller: async (client) => void (await client.links.list()[Symbol.asyncIterator]().next()),
  },
  'links.list, pages()': {
    input: -1,
    theCaller: async (client, page = 1) => {
      for await (const _ of client.links.list({ page }).pages());
    },
  },
  'links.list, pages() with prefetch': {
    after: 'a page',
    theCaller: async (client) => {
      for await (const _ of client.links.list({ prefetch: 4 }).pages());
    },
  },
  'links.list, nextPage()': {
    after: 'a page',
    theCaller: async (client) => {
      const first = await client.links.list();
      await first.nextPage();
    },
  },
  'links.find': {
    input: {},
    theCaller: async (client, query = { name: 'a link' }) => void (await client.links.find(query)),
  },
  'links.list, toArray()': {
    input: -1,
    theCaller: async (client, limit = 10) => void (await client.links.list().toArray({ limit })),
  },
  'jobs.status': {
    signs: true,
    input: {},
    theCaller: async (client, query = job) => void (await client.jobs.status(query)),
  },
  'jobs.status, withResponse()': {
    signs: true,
    input: {},
    theCaller: async (client, query = job) => void (await client.jobs.status(query).withResponse()),
  },
  'jobs.waitForCompletion': {
    signs: true,
    waits: true,
    input: {},
    theCaller: async (client, query = job, wait = waiting) => void (await client.jobs.waitForCompletion(query, wait)),
  },
  'jobs.watch': {
    signs: true,
    waits: true,
    input: {},
    theCaller: async (client, query = job, wait = waiting) => {
      for await (const _ of client.jobs.watch(query, wait));
    },
  },
  'jobs.waitForAll, thrown': {
    sends: false,
    input: 5,
    theCaller: async (client, jobs = [job], wait = waiting) => {
      for await (const _ of client.jobs.waitForAll(jobs, wait));
    },
  },
  'jobs.waitForAll, an entry': {
    signs: true,
    waits: true,
    input: {},
    theCaller: async (client, query = job, wait = waiting) => {
      for await (const { error } of client.jobs.waitForAll([query], wait)) if (error) throw error;
    },
  },
  'jobs.waitForAll, the second entry': {
    signs: true,
    waits: true,
    theCaller: async (client, _input, wait = waiting) => {
      let last;
      for await (const { error } of client.jobs.waitForAll([job, { userId: 'user-2', jobId: 'job-2' }], wait)) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        last = error;
      }
      throw last;
    },
  },
  'callbacks.confirm': {
    signs: true,
    input: {},
    theCaller: async (client, hint = { ...job, signedAt: new Date() }) => void (await client.callbacks.confirm(hint)),
  },
  'callbacks.receive': {
    sends: false,
    input: {},
    theCaller: async (client, body = '') => void (await client.callbacks.receive(body)),
  },
  'callbacks.receive, not JSON': {
    sends: false,
    only: 'response',
    theCaller: async (client) => void (await client.callbacks.receive('<html></html>')),
  },
  'callbacks.receive, of another shape': {
    sends: false,
    only: 'response',
    theCaller: async (client) => void (await client.callbacks.receive(posted({ PartnerParams: {} }))),
  },
  'callbacks.receive, not signed': {
    sends: false,
    only: 'signature',
    theCaller: async (client) => void (await client.callbacks.receive('{}')),
  },
  'nodeHandler, a call of onEvent': {
    calledBy: 'theEffect',
    theCaller: async (client) => {
      const theEffect = async () => void (await client.links.get('ref-1'));
      let reported;
      const onError = (error) => {
        reported = error;
      };
      const status = posted({ job_complete: true, job_success: false, user_id: 'user-1', job_id: 'job-1' });
      const options = { signer, fetch: async () => new Response(status), wire: { echoesTimestamp: true } };
      const { callbacks } = client.withOptions(options);
      const receive = nodeHandler(callbacks.handler({ onEvent: theEffect, onError }));
      // As `express.json()` leaves it.
      const body = JSON.parse(posted({ PartnerParams: { user_id: 'user-1', job_id: 'job-1', job_type: 1 } }));
      await receive(
        { method: 'POST', url: '/', headers: {}, body },
        { setHeader: () => undefined, end: () => undefined },
      );
      throw reported;
    },
  },
  'callbacks.receive, a signer that fails': {
    sends: false,
    only: 'config',
    theCaller: async (client) => {
      const failing = { ...signer, verify: () => Promise.reject(new Error('no')) };
      await client.withOptions({ signer: failing }).callbacks.receive(posted({}));
    },
  },
};

// What comes of them --------------------------------------------------------

function* combinations(setting) {
  for (const [shapeName, shape] of Object.entries(shapes)) {
    if (shape.only !== undefined) yield [shapeName, shape, shape.only, { answer: () => new Response() }];
    for (const [failureName, failure] of Object.entries(failures)) {
      const isSent = !beforeSending.includes(failureName);
      if (isSent && shape.sends === false) continue;
      if (isSent && shape.after !== undefined && failure.answer === undefined) continue;
      if (failure.when === undefined || failure.when(shape, setting)) yield [shapeName, shape, failureName, failure];
    }
  }
}

async function runOne([shapeName, shape, failureName, failure], isLate, setting) {
  const given = { answer: () => new Response(), ...failure };
  const client = clientOf(shape.after === undefined ? given : afterFirstPage(given), isLate, setting);
  const { theCaller, input, calledBy = 'theCaller' } = shape;
  const code = failureName.replace(/ .*/, '');
  const name = `${setting.name}: ${shapeName}: ${failureName}${isLate ? ', later' : ''}`;
  try {
    await theCaller(client, failureName === 'validation' ? input : undefined, given.wait);
    return { name, problem: 'it resolves', stack: '' };
  } catch (error) {
    const { stack } = error;
    if (!isHostedError(error) || error.code !== code) return { name, problem: `it rejects with ${error}`, stack };
    const [first] = stack.split('\n');
    if (first !== `${error.name}: ${error.message}`) return { name, problem: `it begins with ${first}`, stack };
    const isInStack = new RegExp(`^\\s+at .*\\b${calledBy}\\b`, 'm').test(stack);
    return { name, problem: isInStack ? null : 'the caller is not in the stack', stack };
  }
}

/** Runs every shape with every failure, in every setting: what is wrong with each, or null. */
export async function runStacks() {
  const results = [];
  for (const setting of settings) {
    const stopObserving = setting.isTraced ? subscribe() : () => undefined;
    for (const combination of combinations(setting)) {
      for (const isLate of [false, true]) results.push(await runOne(combination, isLate, setting));
    }
    stopObserving();
  }
  return results;
}
