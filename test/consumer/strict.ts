/** What a strict user writes against the built package: it must compile on every supported compiler. */

import {
  type AnyHostedError,
  type ApiPromise,
  type CreatedLink,
  ed25519,
  HostedClient,
  type HostedClientOptions,
  hmacSha256,
  type IdType,
  isHostedError,
  type JobStatus,
  type Link,
  type LinkPage,
  type NewLink,
  type Signer,
} from 'hosted-client';
import { lambdaHandler, nodeHandler } from 'hosted-client/node';
import { type Sandbox, type SandboxOutcome, startSandbox } from 'hosted-client/sandbox';
import { createMockService, createTestClock, type MockService } from 'hosted-client/testing';
import { type Completion, createTracker, HostedStorageError, type SqlPool, type Tracker } from 'hosted-client/tracking';

const service: MockService = createMockService({ clock: createTestClock(), spelling: 'random' });
const options: HostedClientOptions = { ...service.sandbox.clientOptions, fetch: service.fetch };
const client = new HostedClient(options);

export async function playAll(outcomes: readonly SandboxOutcome[]): Promise<Sandbox> {
  const sandbox = await startSandbox({ port: 0, reviewMs: 0 });
  for (const outcome of outcomes) await sandbox.play('ref-1', outcome, { environment: 'production' });
  return sandbox;
}

type NewIdType = NonNullable<NewLink['idTypes']>[number];

export async function readChangeWrite(refId: string, another: IdType): Promise<Link> {
  const link = await client.links.get(refId);
  await client.links.update(link.refId, { idTypes: [...link.idTypes, another] });
  return link;
}

export const created: ApiPromise<CreatedLink> = client.links.create({
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: new URL('https://partner.hosted.test/privacy'),
  callbackUrl: null,
  idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
});

export function verdict(status: JobStatus): string {
  switch (status.state) {
    case 'pending': {
      const complete: false = status.complete;
      return String(complete);
    }
    case 'succeeded':
      return status.result?.resultCode ?? 'none';
    case 'failed': {
      const success: false = status.success;
      return String(success);
    }
  }
}

export function advice(error: unknown): string {
  if (!isHostedError(error)) throw error;
  const known: AnyHostedError = error;
  switch (known.code) {
    case 'validation':
    case 'config':
      return known.issues.map(({ path }) => path).join();
    case 'timeout':
      return known.phase;
    case 'response':
    case 'signature':
      return known.reason;
    case 'rate_limit':
      return `${known.retryAfterMs} ${known.header('retry-after')}`;
    case 'poll_timeout':
      return known.job.jobId;
    default:
      return known.outcome;
  }
}

export const mine: Signer = { name: 'mine', sign: async ({ timestamp }) => timestamp, verify: () => false };
export const others = [hmacSha256({ apiKey: ['new', 'old'] }), ed25519];

export async function particulars(): Promise<number> {
  const { data, response } = await client.links.list({ page: 2 }).withResponse();
  const page: LinkPage = data;
  return page.meta.totalPages + response.attempts;
}

const handle = client.callbacks.handler({ onEvent: (event) => console.log(event.id) });
export const receivers = { node: nodeHandler(handle), lambda: lambdaHandler(handle) };

// @ts-expect-error A partner id is a text: leading zeros are part of it.
export const numeric = new HostedClient({ ...options, partnerId: 85 });
// @ts-expect-error A method the protocol does not name cannot be asked for.
export const unknownMethod: NewIdType = { country: 'NG', idType: 'PASSPORT', verificationMethod: 'new' };
// @ts-expect-error Missing is undefined, or not there; with exactOptionalPropertyTypes only the latter.
export const nothing: HostedClientOptions = { ...options, timeoutMs: undefined };

interface Customer {
  readonly [member: string]: number;
  readonly customer: number;
}

export async function follow(pool: SqlPool, job: JobStatus): Promise<Tracker<Customer> | null> {
  try {
    const tracker = await createTracker<Customer>({ client, pool, maxRequestsPerSecond: 5 });
    const [key] = await tracker.track({ userId: job.userId, jobId: job.jobId, context: { customer: 1 } });
    await tracker.onCompletion((completion) => console.log(key === completion.key, describe(completion)));
    return tracker;
  } catch (error) {
    if (error instanceof HostedStorageError && error.reason === 'unreachable') return null;
    throw error;
  }
}

function describe(completion: Completion<Customer>): string {
  switch (completion.outcome) {
    case 'completed':
      return `${completion.context?.customer}: ${completion.status.success}`;
    case 'expired':
      return `${completion.job.jobId}: ${completion.lastError}`;
    case 'unheard':
      return `${completion.missing} are missing`;
  }
}
