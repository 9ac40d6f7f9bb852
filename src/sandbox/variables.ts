/**
 * Writes shell commands that set the environment variables for a client of a sandbox. Most programs that read `.env`
 * files also accept these lines.
 *
 * @module
 */

import type { Environment } from '../options.js';
import { quoteForShell } from '../runtime/shell.js';

/** The URLs of a sandbox, and the key of a client. */
export interface Connection {
  readonly partnerId: string;
  /** Null if clients sign with Ed25519: no variable is written for an Ed25519 key. */
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
    .map(([name, value]) => `export ${name}=${quoteForShell(value)}`)
    .join('\n');
}
