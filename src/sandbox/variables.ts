/**
 * The variables with which a client uses a sandbox, as lines for a shell. Most readers of `.env` files accept them,
 * too.
 *
 * @module
 */

import type { Environment } from '../options.js';

/** The URLs of a sandbox, and the key of a client. */
export interface Connection {
  readonly partnerId: string;
  /** Null if clients sign with Ed25519: variables for these keys are not printed. */
  readonly apiKey: string | null;
  readonly baseUrls: Readonly<Record<Environment, string>>;
}

/** Writes a line for each variable. */
export function writeVariables({ partnerId, apiKey, baseUrls }: Connection): string {
  const variables = {
    HOSTED_PARTNER_ID: partnerId,
    ...(apiKey !== null && { HOSTED_API_KEY: apiKey }),
    HOSTED_ENVIRONMENT: 'sandbox',
    HOSTED_SANDBOX_BASE_URL: baseUrls.sandbox,
    HOSTED_PRODUCTION_BASE_URL: baseUrls.production,
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join('\n');
}

/** A word for a shell. It is in single quotes, unless it has only characters without a special meaning. */
function quote(value: string): string {
  return /^[\w:/.-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
