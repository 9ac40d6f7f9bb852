/**
 * Creates the mock service for tests. This file has the public names, and `running-service.ts` has the code.
 *
 * @module
 */

import type { Environment } from '../options.js';
import type { Signer } from '../signing/signer.js';
import { preload } from './preload.js';
import { createRunningService } from './running-service.js';
import type { MockClientOptions, MockEnvironment, MockService, MockServiceOptions } from './types.js';

/**
 * Creates a complete service for tests, without a network. It checks every request as the protocol describes, keeps
 * links and jobs, and signs its responses and callbacks. A test can choose which requests fail.
 *
 * By default, its URLs are `https://sandbox.hosted.test` and `https://production.hosted.test`. Its partner is `'085'`,
 * with the keys `'sandbox-test-key'` and `'production-test-key'`. It works with the fake timers of vitest, jest and
 * node:test. Without fake timers, a test can use the clock of {@link createTestClock}. With
 * `examples/mock-preload.mjs`, a program uses this service without any change to its code.
 *
 * @param options - Partner, scheme, spelling and so on. Every option has a default.
 * @returns The service, without links and jobs.
 * @throws {RangeError} when an option is out of its range, a URL is not absolute http(s), or a key is blank.
 *
 * @example Test a client with the mock service
 * ```ts
 * const service = createMockService();
 * const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
 * const link = await client.links.create({
 *   companyName: 'Example Partner',
 *   dataPrivacyPolicyUrl: 'https://partner.example/privacy',
 *   callbackUrl: 'https://partner.example/callbacks',
 * });
 * const job = service.sandbox.jobs.start({ linkRefId: link.refId });
 * service.sandbox.jobs.complete(job, 'approved');
 * console.log((await client.jobs.status(job)).state); // succeeded
 * ```
 *
 * @see [§§2 to 7](../../docs/protocol.md#2-resources) and
 *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
 */
export function createMockService(
  options?: MockServiceOptions & {
    /** How requests, responses and callbacks are signed. Default `'hmac-sha256'`. */
    scheme?: 'hmac-sha256';
  },
): MockService;
/**
 * Creates a complete service for tests of clients that sign with Ed25519. The options of its clients have a `signer`
 * and no `apiKey`.
 *
 * @param options - Partner, scheme, spelling and other options.
 * @returns The service, without links and jobs.
 * @throws {RangeError} when an option is out of its range, a URL is not absolute http(s), or `apiKeys` is given.
 *
 * @see [§§2 to 7](../../docs/protocol.md#2-resources) and
 *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
 */
export function createMockService(
  options: MockServiceOptions & {
    /** How requests, responses and callbacks are signed. */
    scheme: 'ed25519';
  },
): Omit<MockService, Environment> & {
  readonly [Name in keyof Pick<MockService, Environment>]: MockEnvironment<
    Omit<MockClientOptions<Name>, 'apiKey'> & {
      /** The signer of the environment. */
      signer: Signer;
    }
  >;
};
/**
 * Creates a service with options whose `scheme` the compiler does not know.
 *
 * @param options - Partner, scheme, spelling and other options.
 * @returns The service, without links and jobs. With `'ed25519'`, the options of its clients have a `signer` and no
 *   `apiKey`.
 * @throws {RangeError} when an option is out of its range, a URL is not absolute http(s), or a key is blank.
 *
 * @see [§§2 to 7](../../docs/protocol.md#2-resources) and
 *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
 */
export function createMockService(options?: MockServiceOptions): MockService;
export function createMockService(options: MockServiceOptions = {}): Omit<MockService, Environment> {
  preload();
  return createRunningService(options).service;
}
