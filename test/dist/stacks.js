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

/** How what a call gives is waited for. Each is the function whose name is looked for. */
const ways = {
  awaited: { theCaller: async (call, ...given) => void (await call(...given)) },
  'withResponse()': { theCaller: async (call, ...given) => void (await call(...given).withResponse()) },
  'held and awaited later': {
    theCaller: async (call, ...given) => {
      const held = call(...given);
      await Promise.resolve();
      await held;
    },
  },
  returned: {
    theCaller: async (call, ...given) => {
      const inner = async () => call(...given);
      await inner();
    },
  },
  'in Promise.all': { theCaller: async (call, ...given) => void (await Promise.all([call(...given), 1])) },
  'in Promise.race': { theCaller: async (call, ...given) => void (await Promise.race([call(...given)])) },
  'with then()': { theCaller: async (call, ...given) => void (await call(...given).then((value) => value)) },
  'with catch()': {
    theCaller: async (call, ...given) => {
      await call(...given).catch((error) => {
        throw error;
      });
    },
  },
  'with finally()': { theCaller: async (call, ...given) => void (await call(...given).finally(() => undefined)) },
  iterated: {
    theCaller: async (call, ...given) => {
      for await (const { error } of call(...given)) {
        await new Promise((resolve) => setTimeout(resolve));
        if (error) throw error;
      }
    },
  },
  'iterated by hand': {
    theCaller: async (call, ...given) =>
      void (await call(...given)
        [Symbol.asyncIterator]()
        .next()),
  },
  'pages()': {
    theCaller: async (call, ...given) => {
      for await (const _ of call(...given).pages());
    },
  },
  'nextPage()': { theCaller: async (call, ...given) => void (await (await call(...given)).nextPage()) },
};

const responses = ['awaited', 'withResponse()'];
const promises = [...responses, 'in Promise.all', 'with then()', 'with catch()', 'with finally()'];

/**
 * Each is called in its `ways`, or awaited. `input`: what makes it invalid. `signs`: its answers must be signed.
 * `waits`: it polls. `after`: the service answers one page before it fails. `calledBy`: the name of the function that is
 * looked for instead.
 */
const calls = {
  'links.create': { input: {}, ways: responses, call: (client, input = newLink) => client.links.create(input) },
  'links.update': { input: '', call: (client, input = 'ref-1') => client.links.update(input, { isDisabled: true }) },
  'links.disable': { input: '', call: (client, input = 'ref-1') => client.links.disable(input) },
  'links.get': {
    input: '',
    ways: [...promises, 'held and awaited later', 'returned', 'in Promise.race'],
    call: (client, input = 'ref-1') => client.links.get(input),
  },
  'links.list': {
    input: -1,
    ways: [...promises, 'iterated', 'iterated by hand', 'pages()'],
    call: (client, page = 1) => client.links.list({ page }),
  },
  'links.list, to the second page': {
    after: 'a page',
    ways: ['iterated', 'pages()', 'nextPage()'],
    call: (client) => client.links.list(),
  },
  'links.list, with prefetch': {
    after: 'a page',
    ways: ['iterated', 'pages()'],
    call: (client) => client.links.list({ prefetch: 4 }),
  },
  'links.list, toArray()': { input: -1, call: (client, limit = 10) => client.links.list().toArray({ limit }) },
  'links.find': { input: {}, call: (client, query = { name: 'a link' }) => client.links.find(query) },
  'jobs.status': { signs: true, input: {}, ways: responses, call: (client, query = job) => client.jobs.status(query) },
  'jobs.waitForCompletion': {
    signs: true,
    waits: true,
    input: {},
    call: (client, query = job, wait = waiting) => client.jobs.waitForCompletion(query, wait),
  },
  'jobs.watch': {
    signs: true,
    waits: true,
    input: {},
    ways: ['iterated'],
    call: (client, query = job, wait = waiting) => client.jobs.watch(query, wait),
  },
  'jobs.waitForAll, thrown': {
    sends: false,
    input: 5,
    ways: ['iterated'],
    call: (client, jobs = [job], wait = waiting) => client.jobs.waitForAll(jobs, wait),
  },
  'jobs.waitForAll, an entry': {
    signs: true,
    waits: true,
    input: {},
    ways: ['iterated'],
    call: (client, query = job, wait = waiting) => client.jobs.waitForAll([query], wait),
  },
  'jobs.waitForAll, the second entry': {
    signs: true,
    waits: true,
    theCaller: async (call, ...given) => {
      let last;
      for await (const { error } of call(...given)) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        last = error;
      }
      throw last;
    },
    call: (client, _input, wait = waiting) => client.jobs.waitForAll([job, { userId: 'user-2', jobId: 'job-2' }], wait),
  },
  'callbacks.confirm': {
    signs: true,
    input: {},
    call: (client, hint = { ...job, signedAt: new Date() }) => client.callbacks.confirm(hint),
  },
  'callbacks.receive': { sends: false, input: {}, call: (client, body = '') => client.callbacks.receive(body) },
  'callbacks.receive, not JSON': {
    sends: false,
    only: 'response',
    call: (client) => client.callbacks.receive('<html></html>'),
  },
  'callbacks.receive, of another shape': {
    sends: false,
    only: 'response',
    call: (client) => client.callbacks.receive(posted({ PartnerParams: {} })),
  },
  'callbacks.receive, not signed': {
    sends: false,
    only: 'signature',
    call: (client) => client.callbacks.receive('{}'),
  },
  'callbacks.receive, a signer that fails': {
    sends: false,
    only: 'config',
    call: (client) => {
      const failing = { ...signer, verify: () => Promise.reject(new Error('no')) };
      return client.withOptions({ signer: failing }).callbacks.receive(posted({}));
    },
  },
  'callbacks.handler, by nodeHandler: a call of onEvent': {
    calledBy: 'theEffect',
    call: async (client) => {
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
};

/** Every call in each of its ways. */
const shapes = Object.entries(calls).flatMap(([name, { ways: its = ['awaited'], ...call }]) =>
  its.map((way) => [`${name}, ${way}`, { ...ways[way], ...call }]),
);

/** The methods of a client that are not called here. */
function missingMethods(client) {
  const methods = ['links', 'jobs', 'callbacks'].flatMap((name) =>
    Object.keys(client[name]).map((method) => `${name}.${method}`),
  );
  return methods.filter((method) => !Object.keys(calls).some((name) => name.split(',')[0] === method));
}

// What comes of them --------------------------------------------------------

function* combinations(setting) {
  for (const [shapeName, shape] of shapes) {
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
  const { theCaller, call, input, calledBy = 'theCaller' } = shape;
  const code = failureName.replace(/ .*/, '');
  const name = `${setting.name}: ${shapeName}: ${failureName}${isLate ? ', later' : ''}`;
  try {
    await theCaller(call, client, failureName === 'validation' ? input : undefined, given.wait);
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
  const { stackTraceLimit } = Error;
  // One more than engines have, for `call`.
  Error.stackTraceLimit = 11;
  const missing = missingMethods(clientOf({}, false, settings[0]));
  const results = missing.map((name) => ({ name, problem: 'it is not called', stack: '' }));
  for (const setting of settings) {
    const stopObserving = setting.isTraced ? subscribe() : () => undefined;
    for (const combination of combinations(setting)) {
      for (const isLate of [false, true]) results.push(await runOne(combination, isLate, setting));
    }
    stopObserving();
  }
  Error.stackTraceLimit = stackTraceLimit;
  return results;
}
