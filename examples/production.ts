/** A client for production, with options instead of environment variables. The whole process shares this client. */

import { env } from 'node:process';
import { HostedClient } from 'hosted-client';

const client = new HostedClient({
  partnerId: '085',
  apiKey: env.HOSTED_API_KEY ?? '',
  environment: 'production',
  baseUrls: { production: 'https://production.hosted.test' },
  timeoutMs: 10_000,
});

console.log(`made for ${client.environment}`);
