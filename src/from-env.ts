/**
 * Options from environment variables.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedConfigError } from './errors/client-errors.js';
import type { Issue } from './errors/hosted-error.js';
import { type Environment, environments, type HostedClientOptions } from './options.js';
import { consoleLoggers, oneOfLogLevels } from './runtime/console-log.js';
import { readProperty } from './runtime/untrusted-objects.js';
import { exampleUrl, oneOfEnvironments } from './settings.js';
import { ed25519 } from './signing/ed25519.js';
import { check, inputObject } from './validation/check.js';
import { flag } from './validation/input.js';

const source = inputObject({
  env: z.optional(z.custom<object>((value) => Object(value) === value, 'must be an object with the variables')),
  lazy: z.optional(flag),
});

/**
 * Checks where the variables come from, and when the client reads them.
 *
 * @throws {HostedConfigError} when the input is invalid. The error lists every problem.
 */
export function readSource(given: unknown) {
  const { data, issues } = check(source, given);
  if (!data) throw new HostedConfigError(issues, { task: 'create HostedClient' });
  return data;
}

/**
 * Reads the options of a client from environment variables: those in `env`, by name, or those of the process. An option
 * in `given` replaces the option from the variables.
 *
 * @throws {HostedConfigError} when variables are missing (the error names them), or when a variable cannot be read, or
 * ends in a carriage return.
 */
export function readEnvironment(
  given: Readonly<Record<string, unknown>>,
  env: object | undefined,
): HostedClientOptions {
  const variables = env ?? (globalThis as { process?: { env?: object } }).process?.env ?? {};
  const unusable: Issue[] = [];
  const read = (name: string) => {
    try {
      const value = readProperty(variables, name) as string | undefined;
      if (typeof value === 'string' && value.endsWith('\r'))
        unusable.push({ path: name, message: mustHaveUnixLineEnds });
      return value;
    } catch {
      // The thrown value is not shown, because it may contain a secret.
      unusable.push({ path: name, message: 'must be a variable that can be read' });
      return undefined;
    }
  };
  const isKeyGiven = given.apiKey !== undefined || given.signer !== undefined;
  const keys = isKeyGiven ? noKeys : keyOf(read);
  if (keys.apiKey && keys.signer) unusable.push({ path: 'HOSTED_API_KEY', message: mustBeAlone });
  const options: Options = {
    partnerId: read('HOSTED_PARTNER_ID'),
    environment: read('HOSTED_ENVIRONMENT') || 'sandbox',
    baseUrls: urlsOf(read, 'BASE_URL'),
    jobStatusBaseUrls: urlsOf(read, 'JOB_STATUS_BASE_URL'),
    ...keys,
    logger: loggerOf(read('HOSTED_LOG') || 'warn'),
    ...given,
  };
  const issues = unusable.length > 0 ? unusable : findMissing(options, env === undefined);
  if (issues.length > 0) throw new HostedConfigError(issues, { task: 'create HostedClient' });
  return options as unknown as HostedClientOptions;
}

const adviceForBuilds = ' (a build without secrets, such as "next build", needs fromEnv({}, { lazy: true }))';

const mustHaveUnixLineEnds =
  'must not end in a carriage return: the file that sets it has Windows line ends (CRLF), so save it with LF';

const mustBeAlone =
  'must not be set together with HOSTED_SECRET_KEY and HOSTED_SERVICE_PUBLIC_KEY: remove one of the two';

/** Reads an environment variable. */
type Read = (name: string) => string | undefined;

type Options = Partial<Record<keyof HostedClientOptions, unknown>>;

// Both are own properties, also below, so that `findMissing` reads none of a polluted prototype.
const noKeys = { apiKey: undefined, signer: undefined };

function keyOf(read: Read) {
  const apiKey = read('HOSTED_API_KEY');
  const secretKey = read('HOSTED_SECRET_KEY');
  const servicePublicKey = read('HOSTED_SERVICE_PUBLIC_KEY');
  return {
    apiKey: apiKey || undefined,
    signer: secretKey && servicePublicKey ? ed25519({ secretKey, servicePublicKey }) : undefined,
  };
}

// On a Worker, variables are bindings, and a binding may be of any type. So HOSTED_LOG may not be a string.
function loggerOf(level: unknown): unknown {
  return typeof level === 'string' ? readProperty(consoleLoggers, level) : undefined;
}

function urlsOf(read: Read, kind: 'BASE_URL' | 'JOB_STATUS_BASE_URL'): Partial<Record<Environment, string>> {
  const urls = environments.map((name) => [name, read(`HOSTED_${name.toUpperCase()}_${kind}`)]);
  return Object.fromEntries(urls.filter(([, url]) => url));
}

// `settings.ts` checks these options again. They are also checked here, so that messages name the variables.
function findMissing(options: Options, isOfProcess: boolean): readonly Issue[] {
  const { partnerId, apiKey, signer, environment, baseUrls, logger } = options;
  const issues: Issue[] = [];
  // The variables were passed in place of the options.
  const misplaced = Object.keys(options).find((name) => name.startsWith('HOSTED_'));
  if (misplaced !== undefined) return [{ path: misplaced, message: 'must be in "env": fromEnv({}, { env })' }];
  if (!partnerId) issues.push({ path: 'HOSTED_PARTNER_ID', message: 'must be set' });
  if (!apiKey && !signer) {
    const message = 'must be set, or HOSTED_SECRET_KEY and HOSTED_SERVICE_PUBLIC_KEY must both be set in its place';
    issues.push({ path: 'HOSTED_API_KEY', message: isOfProcess ? `${message}${adviceForBuilds}` : message });
  }
  const name = environments.find((known) => known === environment);
  if (name === undefined) {
    issues.push({ path: 'HOSTED_ENVIRONMENT', message: `must be ${oneOfEnvironments}` });
  } else if (!readProperty(Object(baseUrls), name)) {
    const other = environments.find((each) => readProperty(Object(baseUrls), each));
    const instead = other ? `; or set HOSTED_ENVIRONMENT to ${other}, whose URL is set` : '';
    const message = `must be set, such as ${exampleUrl(name)}${instead}`;
    issues.push({ path: `HOSTED_${name.toUpperCase()}_BASE_URL`, message });
  }
  // The value is not shown, because it may be a key that was put into the wrong variable.
  if (!logger) issues.push({ path: 'HOSTED_LOG', message: `must be ${oneOfLogLevels}` });
  return issues;
}
