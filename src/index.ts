/**
 * Client of a hosted identity verification service: links, job status, signing and verification.
 *
 * @module hosted-client
 */

export type { ApiPromise, ResponseInfo } from './call/api-promise.js';
export type { Callbacks } from './callbacks/callbacks.js';
export type * from './callbacks/types.js';
export { HostedClient } from './client.js';
export * from './errors/client-errors.js';
export { HostedError, type Issue, type Outcome } from './errors/hosted-error.js';
export * from './errors/service-errors.js';
export type { HostedEvent, Logger } from './events.js';
export type { Jobs } from './jobs/jobs.js';
export type * from './jobs/types.js';
export type { WaitOptions } from './jobs/wait-input.js';
export type { LinkList, ListOptions } from './links/link-list.js';
export type { Links } from './links/links.js';
export type * from './links/types.js';
export type { CallOptions, Environment, FetchInit, FetchResponse, HostedClientOptions } from './options.js';
export type { WireOptions } from './protocol/assumptions.js';
export type { OperationName } from './protocol/routes.js';
export type { Clock } from './runtime/clock.js';
export { ed25519 } from './signing/ed25519.js';
export { hmacSha256 } from './signing/hmac-sha256.js';
export type { SignatureInput, Signer } from './signing/signer.js';
