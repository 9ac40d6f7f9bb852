/**
 * The variables that lead a client to a sandbox, as lines for a shell. Most readers of `.env` files take them, too.
 *
 * @module
 */

import type { Environment } from '../options.js';

/** Where a sandbox is, and by which key a client signs. */
export interface Connection {
  readonly partnerId: string;
  /** Null where clients sign with Ed25519, whose keys are no variables. */
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

/** A word of a shell: in single quotes, unless it has only characters that no shell reads as more than themselves. */
function quote(value: string): string {
  return /^[\w:/.-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
