/**
 * A partner that signs with node:crypto: a second implementation of docs/protocol.md §5, so that the
 * mock service is not judged by its own code.
 *
 * @module
 */

import { createHmac, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { MockEnvironment, MockService } from 'hosted-client/testing';

export const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
export const nowText = '2026-01-02T03:04:05.000Z';

/** A clock that stands still. */
export const stillClock = { now: () => nowMs };

/** A link that may be created. */
export const newLink = {
  company_name: 'Example Partner',
  data_privacy_policy_url: 'https://partner.example/privacy',
  callback_url: 'https://partner.example/callbacks',
};

/** base64(HMAC-SHA256(key, timestamp + partner id + 'sid_request')). */
export function hmac(apiKey: string, timestamp: string, partnerId = '085'): string {
  return createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64');
}

/** The Ed25519 key whose seed is `seedByte` 32 times over. */
export function ed25519Key(seedByte: number) {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const key = Buffer.concat([prefix, Buffer.alloc(32, seedByte)]);
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

export function ed25519Sign(seedByte: number, timestamp: string, partnerId = '085'): string {
  return sign(null, Buffer.from(`${timestamp}${partnerId}sid_request`), ed25519Key(seedByte)).toString('base64');
}

export function ed25519Verifies(seedByte: number, signature: string, timestamp: string, partnerId = '085'): boolean {
  const publicKey = createPublicKey(ed25519Key(seedByte));
  return verify(null, Buffer.from(`${timestamp}${partnerId}sid_request`), publicKey, Buffer.from(signature, 'base64'));
}

export function apiKeyOf(environment: MockEnvironment): string {
  // With Ed25519 there is none.
  return environment.clientOptions.apiKey ?? '';
}

/** A response, read. */
export interface Answered {
  readonly status: number;
  /** Not typed: what the wire holds is what these tests look at. */
  readonly body: Awaited<ReturnType<Response['json']>>;
  readonly headers: Headers;
}

export async function read(response: Response): Promise<Answered> {
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** The members that sign a link operation. */
export function signedBy(environment: MockEnvironment, timestamp = nowText): Record<string, unknown> {
  return { partner_id: '085', timestamp, signature: hmac(apiKeyOf(environment), timestamp) };
}

/** Sends a body as it is given. */
export function send(service: MockService, method: string, url: string, body: unknown, init: RequestInit = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return service.fetch(url, { method, headers: { 'content-type': 'application/json' }, body: text, ...init });
}

/** Calls of a partner of one environment, correctly signed. `members` may replace any member. */
export function partnerOf(service: MockService, environment: MockEnvironment = service.sandbox) {
  const links = `${environment.baseUrl}/v1/hosted_links`;
  const call = (method: string, url: string) => async (members: object, init?: RequestInit) =>
    read(await send(service, method, url, { ...signedBy(environment), ...members }, init));
  return {
    create: (members: object = newLink, init?: RequestInit) => call('POST', links)(members, init),
    get: (refId: string, members: object = {}) => call('POST', `${links}/${refId}`)(members),
    update: (refId: string, members: object) => call('PUT', `${links}/${refId}`)(members),
    list: (members: object = {}) => call('POST', `${links}/list`)(members),
    status: (members: object, init?: RequestInit) => {
      const { signature: sec_key, ...signed } = signedBy(environment);
      return call('POST', `${environment.baseUrl}/v1/job_status`)(
        { ...signed, sec_key, signature: undefined, ...members },
        init,
      );
    },
  };
}

/** A job as job status asks for it. */
export function wireJob({ userId, jobId }: { userId: string; jobId: string }): object {
  return { user_id: userId, job_id: jobId };
}
