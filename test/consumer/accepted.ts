/** What has to compile, with and without lib dom: the options that tests and tools put together. */

import {
  type Environment,
  type FetchInit,
  HostedClient,
  type HostedClientOptions,
  hmacSha256,
  isHostedError,
  type JobRef,
  type LinkChanges,
  type Links,
  type NewLink,
} from 'hosted-client';
import {
  createMockService,
  type MockClientOptions,
  type MockEnvironment,
  type MockService,
  type MockServiceOptions,
} from 'hosted-client/testing';

const service = createMockService();
const kit = service.sandbox.clientOptions;
const signer = hmacSha256({ apiKey: 'key' });
declare const environment: 'sandbox' | 'production';

export const overridden: readonly HostedClientOptions[] = [
  kit,
  service.production.clientOptions,
  { ...kit },
  { ...kit, partnerId: '001' },
  { ...kit, apiKey: 'wrong' },
  { ...kit, environment: 'production' },
  { ...kit, environment },
  { ...kit, baseUrls: { sandbox: 'http://127.0.0.1:4085' } },
  { ...kit, baseUrls: { sandbox: new URL('http://127.0.0.1:4085'), production: 'https://hosted.test' } },
  { ...kit, environment: 'production', baseUrls: { production: 'https://hosted.test' } },
  { ...kit, wire: { firstPage: 0 } },
  { ...kit, clock: { now: () => 0 } },
  { ...kit, fetch: service.fetch, maxRetries: 0, logger: console },
  { ...service.production.clientOptions, baseUrls: { production: 'https://hosted.test' } },
  { ...createMockService({ scheme: 'ed25519' }).sandbox.clientOptions, fetch: service.fetch },
];

export const environments: readonly MockEnvironment[] = [service.sandbox, service.production];
/** Does not compile if the options of one environment do not take the URL of each. */
export const urlNames: readonly (keyof HostedClientOptions['baseUrls'])[] = [] as readonly Environment[];
export const fromEither = (given: MockEnvironment): HostedClientOptions => ({
  ...given.clientOptions,
  apiKey: 'wrong',
});
export const named: MockClientOptions = kit;

const client = new HostedClient({ ...kit, fetch });
export const derived = [
  client.withOptions({ environment: 'production', apiKey: 'other' }),
  client.withOptions({ environment, apiKey: 'other' }),
  client.withOptions({ signer }),
  client.withOptions({ baseUrls: { production: 'https://hosted.test' } }),
  HostedClient.fromEnv({ fetch, maxRetries: 0 }, { lazy: true }),
  HostedClient.fromEnv({}, { env: { HOSTED_API_KEY: 'key', cache: new Map() } }),
];

export const fetches: readonly NonNullable<HostedClientOptions['fetch']>[] = [
  fetch,
  globalThis.fetch,
  service.fetch,
  (url, init) => fetch(url, init),
  async (url, init) => fetch(new Request(url, init)),
  (url: string, init: RequestInit) => fetch(url, init),
  async () => new Response('{}'),
  async (_url: string, { body, headers, signal }: FetchInit) =>
    Response.json([body, headers['x-trace'], signal.aborted]),
];

export const changes: readonly LinkChanges[] = [
  { isDisabled: true },
  { idTypes: [] },
  { isDisabled: false, idTypes: [] },
];

/** A link with the ID types of another one, as they were fetched, with one more, and from a table of a caller's own. */
export async function copyLink(link: NewLink, refId: string, rows: readonly { method: string }[]): Promise<void> {
  const { idTypes } = await client.links.get(refId);
  await client.links.create(link);
  await client.links.create({ ...link, idTypes });
  await client.links.create({
    ...link,
    idTypes: [...idTypes, { country: 'NG', idType: 'NEW', verificationMethod: 'enhanced_kyc' }],
  });
  await client.links.create({
    ...link,
    idTypes: rows.map(({ method }) => ({ country: 'NG', idType: 'BVN', verificationMethod: method })),
  });
}
export const fakes: readonly Pick<Links, 'create'>[] = [
  { create: (link) => client.links.create({ ...link, name: 'copy' }) },
  { create: (link: NewLink) => client.links.create(link) },
  { create: (link: NewLink<string>) => client.links.create(link) },
];

/** What `onPoll`, a wait and `onError` say of an error. */
export async function tellErrors(jobs: readonly JobRef[], tell: (text: string) => void): Promise<void> {
  const onPoll = { onPoll: ({ error }: { error: Error | null }) => tell(error?.message ?? '') };
  for await (const { error } of client.jobs.waitForAll(jobs, onPoll)) if (error) tell(error.code);
  await client.jobs.waitForCompletion(
    { userId: 'user-1', jobId: 'job-1' },
    { onPoll: ({ error }) => tell(error?.code ?? '') },
  );
  client.callbacks.handler({
    onEvent: () => undefined,
    onError: (error, { phase }) => tell(isHostedError(error) ? error.code : phase),
  });
}

export const services: readonly MockService[] = [
  createMockService(),
  createMockService({ seed: 1 }),
  createMockService({ scheme: 'hmac-sha256' }),
];
export const startService = (given?: MockServiceOptions): MockService => createMockService(given);

const handle = client.callbacks.handler({ onEvent: () => undefined });
interface WorkerContext {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
}
/** What passes a handler more than a request: a route of Next, Deno, Bun, hono's mount, a Worker with and without a type of its bindings. */
export const routes: readonly [
  (request: Request, context: { params: Promise<{ id: string }> }) => Promise<Response> | Response,
  (request: Request, info: { remoteAddr: { hostname: string }; completed: Promise<void> }) => Promise<Response>,
  (request: Request, server: { port: number; upgrade(request: Request): boolean }) => Promise<Response> | Response,
  // biome-ignore lint/suspicious/noExplicitAny: this is how hono declares it.
  (request: Request, ...others: any[]) => Promise<Response> | Response,
  (request: Request, env: unknown, context: WorkerContext) => Promise<Response> | Response,
  (request: Request, env: { DB: object }, context: WorkerContext) => Promise<Response> | Response,
  (request: Request) => Promise<Response>,
] = [handle, handle, handle, handle, handle, handle, handle];
