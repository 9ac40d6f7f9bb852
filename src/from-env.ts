/**
 * Options from the process's environment.
 *
 * @module
 */

import { HostedConfigError } from './errors.js';
import type { Issue } from './hosted-error.js';
import { listIssues } from './messages.js';
import type { Environment, HostedClientOptions } from './options.js';
import { ed25519 } from './signing/ed25519.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the options of a client from environment variables; `overrides` count before them.
 *
 * @throws {HostedConfigError} naming the variables that are missing.
 */
export function optionsFromEnvironment(overrides: Partial<HostedClientOptions>): HostedClientOptions {
  const variables: Variables = (globalThis as { process?: { env?: Variables } }).process?.env ?? {};
  const given = Object.fromEntries(Object.entries(overrides ?? {}).filter(([, value]) => value !== undefined));
  const options = {
    partnerId: variables.HOSTED_PARTNER_ID,
    environment: (variables.HOSTED_ENVIRONMENT || 'sandbox') as Environment,
    baseUrls: baseUrlsOf(variables),
    ...(given.apiKey === undefined && given.signer === undefined ? keyOf(variables) : {}),
    ...given,
  };
  const issues = missing(options);
  if (issues.length > 0) throw new HostedConfigError(`Cannot make a client: ${listIssues(issues)}`, issues);
  return options as HostedClientOptions;
}

function keyOf({ HOSTED_API_KEY, HOSTED_SECRET_KEY, HOSTED_SERVICE_PUBLIC_KEY }: Variables) {
  const pair = HOSTED_SECRET_KEY && HOSTED_SERVICE_PUBLIC_KEY;
  return {
    ...(HOSTED_API_KEY && { apiKey: HOSTED_API_KEY }),
    ...(pair && { signer: ed25519({ secretKey: HOSTED_SECRET_KEY, servicePublicKey: HOSTED_SERVICE_PUBLIC_KEY }) }),
  };
}

function baseUrlsOf({
  HOSTED_SANDBOX_BASE_URL,
  HOSTED_PRODUCTION_BASE_URL,
}: Variables): HostedClientOptions['baseUrls'] {
  return {
    ...(HOSTED_SANDBOX_BASE_URL && { sandbox: HOSTED_SANDBOX_BASE_URL }),
    ...(HOSTED_PRODUCTION_BASE_URL && { production: HOSTED_PRODUCTION_BASE_URL }),
  };
}

// The options' own check knows members; here the variables they come from are what a reader knows.
function missing(options: Partial<Record<keyof HostedClientOptions, unknown>>): readonly Issue[] {
  const { environment } = options;
  const baseUrls = (options.baseUrls ?? {}) as HostedClientOptions['baseUrls'];
  const issues: Issue[] = [];
  if (!options.partnerId) issues.push({ path: 'HOSTED_PARTNER_ID', message: 'must be set' });
  if (!options.apiKey && !options.signer) {
    const message = 'must be set, or HOSTED_SECRET_KEY and HOSTED_SERVICE_PUBLIC_KEY';
    issues.push({ path: 'HOSTED_API_KEY', message });
  }
  if (environment !== 'sandbox' && environment !== 'production') {
    issues.push({ path: 'HOSTED_ENVIRONMENT', message: 'must be "sandbox" or "production"' });
  } else if (!baseUrls[environment]) {
    issues.push({ path: `HOSTED_${environment.toUpperCase()}_BASE_URL`, message: 'must be set' });
  }
  return issues;
}
