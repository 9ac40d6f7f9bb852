/**
 * Runs an unchanged program against the mock service, without a network:
 * `node --import ./mock-preload.mjs app.js`. Do not use it in production: it replaces the environment variables and
 * the `fetch` of the process.
 */

import { env } from 'node:process';
import { createMockService } from 'hosted-client/testing';

const service = createMockService();
const { partnerId, apiKey } = service.sandbox.clientOptions;

// The mock has these links when the program starts.
service.sandbox.links.seed(25);

// HostedClient.fromEnv() reads these variables.
Object.assign(env, {
  HOSTED_PARTNER_ID: partnerId,
  HOSTED_API_KEY: apiKey,
  HOSTED_ENVIRONMENT: 'sandbox',
  HOSTED_SANDBOX_BASE_URL: service.sandbox.baseUrl,
  HOSTED_SANDBOX_JOB_STATUS_BASE_URL: service.sandbox.baseUrl,
  // These stay empty, because the mock signs with the API key above.
  HOSTED_SECRET_KEY: '',
  HOSTED_SERVICE_PUBLIC_KEY: '',
});

// The mock handles requests to the service. All other requests are sent as usual.
const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const { origin } = new URL(input instanceof Request ? input.url : input);
  return origin === service.sandbox.baseUrl ? service.fetch(input, init) : send(input, init);
};
