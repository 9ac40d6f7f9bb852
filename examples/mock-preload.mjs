/**
 * Starts a program as it is against the mock service, without a network:
 * `node --import ./mock-preload.mjs app.js`. Not for production: it replaces variables and `fetch` of the process.
 */

import { env } from 'node:process';
import { createMockService } from 'hosted-client/testing';

const service = createMockService();
const { partnerId, apiKey } = service.sandbox.clientOptions;

// What the program is to find there.
service.sandbox.links.seed(25);

// What HostedClient.fromEnv() reads.
Object.assign(env, {
  HOSTED_PARTNER_ID: partnerId,
  HOSTED_API_KEY: apiKey,
  HOSTED_ENVIRONMENT: 'sandbox',
  HOSTED_SANDBOX_BASE_URL: service.sandbox.baseUrl,
  HOSTED_SANDBOX_JOB_STATUS_BASE_URL: service.sandbox.baseUrl,
  // The mock signs by the key above.
  HOSTED_SECRET_KEY: '',
  HOSTED_SERVICE_PUBLIC_KEY: '',
});

// Requests to the service are the mock's; every other one is sent as before.
const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const { origin } = new URL(input instanceof Request ? input.url : input);
  return origin === service.sandbox.baseUrl ? service.fetch(input, init) : send(input, init);
};
