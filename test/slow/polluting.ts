/**
 * What may stand on a polluted `Object.prototype`, what a client does meanwhile, and what is seen of it from
 * outside: the requests that are sent, and what is returned or thrown.
 */

import { readFileSync } from 'node:fs';
import { HostedClient, type HostedClientOptions, HostedError, hmacSha256 } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import ts from 'typescript';
import { vi } from 'vitest';
import {
  identityFields,
  imageLinksFields,
  partnerParamsFields,
  resultFields,
  statusFields,
} from '../../src/jobs/fields.js';
import { propertiesOf } from '../../src/protocol/fields.js';
import { apiKey, now, partnerId, sign } from '../support/fake-fetch.js';

/** Where the names of options, inputs and responses are declared. */
const declarations = [
  'options.ts',
  'protocol/assumptions.ts',
  'runtime/clock.ts',
  'links/types.ts',
  'links/link-list.ts',
  'links/decode.ts',
  'jobs/types.ts',
  'jobs/wait-input.ts',
  'jobs/decode.ts',
  'callbacks/types.ts',
  'callbacks/callbacks.ts',
  'signing/signer.ts',
  'signing/hmac-sha256.ts',
  'signing/ed25519.ts',
  'errors/hosted-error.ts',
  'errors/client-errors.ts',
  'errors/service-errors.ts',
  'testing/types.ts',
];

/** What is nobody's property but read all the same: of responses, requests and the environment. */
const undeclared = [
  ...['sec_key', 'signature', 'timestamp', 'error', 'message', 'code', 'partner_id', 'page', 'is_disabled'],
  ...['user-agent', 'content-type', 'accept', 'date', 'retry-after', 'toJSON', 'cause'],
  ...['HOSTED_PARTNER_ID', 'HOSTED_API_KEY', 'HOSTED_SECRET_KEY', 'HOSTED_SERVICE_PUBLIC_KEY', 'HOSTED_ENVIRONMENT'],
  ...['HOSTED_SANDBOX_BASE_URL', 'HOSTED_PRODUCTION_BASE_URL', 'HTTP_PROXY', 'NO_PROXY'],
];

const jobFields = propertiesOf(statusFields, resultFields, identityFields, partnerParamsFields, imageLinksFields);

/** Names with which JavaScript itself no longer works: `then` makes a promise of every object, and so on. */
const breakJavaScript = new Set(['then', 'get', 'set', 'value', 'length']);

/** Every name of a property that is declared there, as `expiresAt` or `expires_at`. */
export const names: readonly string[] = [
  ...new Set([...declarations.flatMap((path) => namesIn(`src/${path}`)), ...jobFields.keys(), ...undeclared]),
].filter((name) => !breakJavaScript.has(name) && !(name in Object.prototype));

function namesIn(path: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const declares = ts.isPropertySignature(node) || ts.isMethodSignature(node) || ts.isPropertyAssignment(node);
    // A response has no declaration: its fields are read by their names.
    const reads = path.endsWith('/decode.ts') && ts.isPropertyAccessExpression(node);
    if (declares || reads || ts.isShorthandPropertyAssignment(node) || ts.isPropertyDeclaration(node)) {
      if (ts.isIdentifier(node.name) || ts.isStringLiteral(node.name)) found.push(node.name.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext));
  return found;
}

/** What a name may stand for. */
export const values: readonly unknown[] = [true, 'x', {}, 7, ['x'], () => 'x'];

/** When a property gets onto the prototype, and whether `for … in` finds it there. */
export interface Pollution {
  readonly name: string;
  readonly value: unknown;
  readonly enumerable: boolean;
  /** Before the client is created, or only before the call. */
  readonly before: 'client' | 'call';
}

const signedAt = new Date(now - 500).toISOString();
const signedText = (record: object) => JSON.stringify({ ...record, timestamp: signedAt, sec_key: sign(signedAt) });
const text = (record: object) => JSON.stringify(record);

type Reply = string | readonly [number, string] | { readonly broken: string };

interface World {
  readonly client: HostedClient;
  readonly options: HostedClientOptions;
  readonly callback: Request;
}

/** Something one does with a client, and what the service answers meanwhile. */
export interface Deed {
  readonly replies?: readonly Reply[];
  readonly run: (world: World) => unknown;
}

const job = { userId: 'user-1', jobId: 'job-1' };
const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
const newLink = { companyName: 'E', dataPrivacyPolicyUrl: 'https://p.test/p', callbackUrl: 'https://p.test/c' };
const bvn = { country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' as const };
const page = (currentPage: number, record: object) =>
  text({ links: [record], meta: { currentPage, limit: 1, totalCount: 2, totalPages: 2 } });
const done = signedText({ job_complete: true, job_success: 'true', user_id: 'user-1', job_id: 'job-1', result: {} });
const pair = { timestamp: signedAt, signature: sign(signedAt) };
const callbackText = text({ PartnerParams: { user_id: 'user-1', job_id: 'job-1' }, ResultCode: '0810', ...pair });
const callbackWithoutJob = text({ ResultCode: '0810', ...pair });
const callbackWithoutSignature = text({ PartnerParams: { user_id: 'user-1', job_id: 'job-1' } });

/** One of each, with as little given and answered as is possible. */
export const deeds: Readonly<Record<string, Deed>> = {
  'create a link': {
    replies: [text({ link: 'https://links.hosted.test/1', ref_id: 'ref-1' })],
    run: ({ client }) => client.links.create({ ...newLink, idTypes: [bvn], extra: { a: [{}] } }),
  },
  'create a link that is not complete': { run: ({ client }) => client.links.create({ idTypes: [{}] } as never) },
  'change a link': {
    replies: [text({ ...link, id_types: [{}] })],
    run: ({ client }) => client.links.update('ref-1', { idTypes: [] }),
  },
  'change nothing': { run: ({ client }) => client.links.update('ref-1', {} as never) },
  'disable a link': { replies: [text(link)], run: ({ client }) => client.links.disable('ref-1') },
  'get a link': {
    replies: [text({ ...link, total_jobs: '3', other: {} })],
    run: ({ client }) => client.links.get('ref-1', {}),
  },
  'get nothing': { replies: ['{}'], run: ({ client }) => client.links.get('ref-1') },
  'list links': {
    replies: [page(1, link), page(2, { ...link, ref_id: 'ref-2', total_jobs: '1' })],
    run: ({ client }) => client.links.list({}).toArray({ limit: 5 }),
  },
  'find a link': {
    replies: [page(1, { ...link, name: 'wanted' })],
    run: ({ client }) => client.links.find({ name: 'wanted' }),
  },
  'find nothing': { run: ({ client }) => client.links.find({}) },
  'read a page without meta': { replies: [text({ links: [link] })], run: ({ client }) => client.links.list() },
  'read the next page': {
    replies: [page(1, link), page(2, { ...link, ref_id: 'ref-2' })],
    run: async ({ client }) => (await (await client.links.list()).nextPage())?.links,
  },
  'ask for a pending job': {
    replies: [signedText({ job_complete: false })],
    run: ({ client }) => client.jobs.status(job),
  },
  'ask for a completed job': {
    replies: [
      signedText({
        ...{ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1', image_links: {} },
        ...{ result: { PartnerParams: {} }, history: [{}, { PartnerParams: {} }] },
      }),
    ],
    run: ({ client }) => client.jobs.status({ ...job, history: true }),
  },
  'ask for a job of no state': { replies: [signedText({})], run: ({ client }) => client.jobs.status(job) },
  'ask for no job': { run: ({ client }) => client.jobs.status({} as never) },
  'get a status that is not signed': {
    replies: [text({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' })],
    run: ({ client }) => client.jobs.status(job),
  },
  'be refused': { replies: [[400, '{}']], run: ({ client }) => client.links.get('ref-1') },
  'be refused by a gateway': { replies: [[503, 'no']], run: ({ client }) => client.links.create(newLink) },
  'try again after a 503': { replies: [[503, 'no'], text(link)], run: ({ client }) => client.links.get('ref-1') },
  'have no connection': { replies: [{ broken: 'ECONNREFUSED' }], run: ({ client }) => client.links.create(newLink) },
  'try again after a reset': {
    replies: [{ broken: 'ECONNRESET' }, text(link)],
    run: ({ client }) => client.links.get('ref-1'),
  },
  'wait for a job': {
    replies: [signedText({ job_complete: false }), done],
    run: ({ client }) => client.jobs.waitForCompletion(job, {}),
  },
  'wait for a job that is not known yet': {
    replies: [[404, '{}'], done],
    run: ({ client }) => client.jobs.waitForCompletion(job),
  },
  'wait for many': {
    replies: [done],
    run: async ({ client }) => {
      const ends: object[] = [];
      for await (const end of client.jobs.waitForAll([job, {} as typeof job])) ends.push({ ...end });
      return ends;
    },
  },
  'receive a callback': { run: ({ client }) => client.callbacks.receive(callbackText, {}) },
  'receive a callback without a job': { run: ({ client }) => client.callbacks.receive(callbackWithoutJob) },
  'receive a callback without a signature': { run: ({ client }) => client.callbacks.receive(callbackWithoutSignature) },
  'sign by a signer without a context': {
    run: () => hmacSha256({ apiKey }).sign({ partnerId, timestamp: signedAt }),
  },
  'derive a client': {
    replies: [text(link)],
    run: ({ client }) => client.withOptions({ wire: {} }).links.get('ref-1'),
  },
  'create a client of nothing': { run: ({ options }) => new HostedClient({ fetch: options.fetch } as never) },
  'create a client from the environment': { run: () => HostedClient.fromEnv({}).environment },
};

/** What needs more of the platform than a call does: a body that is read from a `Request`, or one that is made. */
export const deedsWithRequests: Readonly<Record<string, Deed>> = {
  'handle a callback': {
    replies: [signedText({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1', history: [] })],
    run: async ({ client, callback }) => {
      const events: unknown[] = [];
      const handle = client.callbacks.handler({ onEvent: (...told) => void events.push(told) });
      return { status: (await handle(callback)).status, events };
    },
  },
  'ask a mock service': {
    run: async () => {
      const service = createMockService({});
      const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
      service.sandbox.links.seed(2);
      service.sandbox.failNext('links.get', { kind: 'status', status: 400 });
      const job = service.sandbox.jobs.start({});
      service.sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Under review' });
      service.sandbox.jobs.complete(job, 'approved');
      const { links, meta } = await client.links.list();
      const { signedAt: _now, ...status } = await client.jobs.status({ ...job, history: true });
      const refused = await client.links.get('ref-1').catch((error: unknown) => error);
      return { links: links.map(({ createdAt: _at, updatedAt: _by, ...kept }) => kept), meta, status, refused };
    },
  },
};

/** Names that the platform's own `Request` and streams stumble over. */
export const breakRequests = new Set(['signal', 'window', 'mode', 'required', 'duplex', 'method', 'headers', 'body']);

/** What is seen of a deed from outside, as text: a time that is not given is left out. */
export async function seenOf({ replies = [], run }: Deed, pollution?: Pollution): Promise<string> {
  const queue = replies.map(toResponse);
  const callback = new Request('https://partner.test/callbacks', { method: 'POST', body: callbackText });
  const sent: unknown[] = [];
  let time = now;
  const options: HostedClientOptions = {
    partnerId,
    apiKey,
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: (async (url: string, init: RequestInit) => {
      const headers = Object.entries(init.headers ?? {});
      sent.push([url, init.method, init.redirect, headers, init.body]);
      const reply = queue.shift();
      if (reply instanceof Response) return reply;
      throw Object.assign(new TypeError('fetch failed'), { cause: reply });
    }) as typeof globalThis.fetch,
    // Its short sleeps end at once, and its time limits never.
    clock: {
      now: () => time,
      sleep: async (ms) => {
        if (ms >= 10_000) return new Promise(() => undefined);
        time += ms;
      },
    },
  };
  // A client keeps the function it is created with.
  const drawn = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const early = pollution?.before === 'call' ? new HostedClient(options) : null;
  const undo = pollution ? pollute(pollution) : () => undefined;
  let end: unknown;
  try {
    const client = early ?? new HostedClient(options);
    end = { value: await run({ client, options, callback }) };
  } catch (error) {
    end = { error };
  } finally {
    undo();
    drawn.mockRestore();
  }
  return JSON.stringify({ sent, end: plain(end) });
}

function toResponse(reply: Reply): Response | Error {
  if (typeof reply === 'object' && 'broken' in reply) {
    return Object.assign(new Error(reply.broken), { code: reply.broken });
  }
  const [status, body] = typeof reply === 'string' ? [200, reply] : reply;
  return new Response(body, { status });
}

function pollute({ name, value, enumerable }: Pollution): () => void {
  const property = { value, enumerable, configurable: true, writable: true };
  Object.defineProperty(Object.prototype, name, property);
  return () => {
    delete (Object.prototype as Record<string, unknown>)[name];
  };
}

// Messages and issues are words for people: zod's own may be put together from anything.
function plain(value: unknown): unknown {
  if (value instanceof HostedError) {
    const { message: _message, issues: _issues, ...facts } = value.toJSON() as Record<string, unknown>;
    return facts;
  }
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}
