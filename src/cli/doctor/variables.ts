/**
 * Checks that the variables are set and well formed.
 *
 * @module
 */

import { type HostedClient, isHostedError } from '../../index.js';
import { environments } from '../../options.js';
import { isHttpUrl, isPublicUrl } from '../../protocol/http-url.js';
import { findKeyWarnings } from '../../signing/keys.js';
import { findSimilarName } from '../../validation/did-you-mean.js';
import { type Context, createClient, envFileAdvice } from '../context.js';
import type { Finding } from './finding.js';

/** The variables that set the options of a client for an environment. */
function variablesOf(environment: string): Readonly<Record<string, string>> {
  const name = environment.toUpperCase();
  return {
    partnerId: 'HOSTED_PARTNER_ID',
    apiKey: 'HOSTED_API_KEY',
    secretKey: 'HOSTED_SECRET_KEY',
    servicePublicKey: 'HOSTED_SERVICE_PUBLIC_KEY',
    signer: 'HOSTED_SERVICE_PUBLIC_KEY',
    environment: 'HOSTED_ENVIRONMENT',
    logger: 'HOSTED_LOG',
    baseUrls: `HOSTED_${name}_BASE_URL`,
    jobStatusBaseUrls: `HOSTED_${name}_JOB_STATUS_BASE_URL`,
  };
}

const known = [...new Set(environments.flatMap((name) => Object.values(variablesOf(name))))];

const keyNames = ['HOSTED_API_KEY', 'HOSTED_SECRET_KEY', 'HOSTED_SERVICE_PUBLIC_KEY'];

/** The result of checking the variables. */
export interface Setup {
  readonly findings: readonly Finding[];
  /** The client; null if no client can be created. */
  readonly client: HostedClient | null;
  /** The URLs of the service; null if a URL is missing or invalid. */
  readonly addresses: { readonly links: string; readonly jobs: string } | null;
}

/** Checks the variables, and creates a client from them. */
export function checkVariables(context: Context): Setup {
  const addresses = readAddresses(context);
  const isPublic = addresses !== null && isPublicUrl(addresses.links);
  const findings = [...findMisspelt(context), ...checkKeys(context, isPublic), ...checkPartner(context)];
  // The findings say what the client would log.
  const quiet = { ...context, stderr: { write: () => undefined } };
  let client: HostedClient | null = null;
  let first: Finding;
  try {
    // The client does not retry, because doctor reports the first response.
    client = createClient(quiet, { maxRetries: 0, timeoutMs: 15_000, totalTimeoutMs: 20_000 });
    first = { check: 'variables', state: 'well', message: `set and well formed, for ${client.environment}` };
  } catch (error) {
    const issues = isHostedError(error) && error.code === 'config' ? error.issues : [];
    const wrong = issues.map(({ path, message }) => `${toVariable(path, context)} ${message}`);
    // A program that was started with a file has variables that this command does not see.
    if (context.env.HOSTED_PARTNER_ID === undefined) wrong.push(envFileAdvice);
    first = { check: 'variables', state: 'wrong', message: wrong.join('; ') || 'cannot be read' };
  }
  return { findings: [first, ...findings], client, addresses };
}

/** Returns the name of the variable that sets an option. */
export function toVariable(path: string, { env }: Context): string {
  const [option = '', environment = env.HOSTED_ENVIRONMENT || 'sandbox'] = path.split('.');
  const variables = variablesOf(environment);
  return Object.hasOwn(variables, option) ? (variables[option] ?? path) : path;
}

function findMisspelt({ env }: Context): readonly Finding[] {
  const strange = Object.keys(env).filter((name) => /^HOSTED_/i.test(name) && !known.includes(name));
  return strange.flatMap((name) => {
    const similar = findSimilarName(name, known);
    if (similar === null || env[similar]) return [];
    const message = `${name} is not read: did you mean ${similar}?`;
    return [{ check: 'variables', state: 'warning', message } as const];
  });
}

function checkKeys({ env }: Context, isPublic: boolean): readonly Finding[] {
  const given = keyNames.filter((name) => env[name]);
  const problems = given.flatMap((name) =>
    findKeyWarnings([env[name] ?? '']).flatMap(({ kind, message }): readonly Finding[] => {
      const state = kind === 'copied' ? 'wrong' : 'warning';
      return state === 'wrong' || isPublic ? [{ check: 'key', state, message: `${name} ${message}` }] : [];
    }),
  );
  if (problems.length > 0 || given.length === 0) return problems;
  return [{ check: 'key', state: 'well', message: 'without spaces, line ends and quotation marks' }];
}

// §8 of docs/protocol.md: a partner id has 3 characters.
function checkPartner({ env }: Context): readonly Finding[] {
  if (!/^\d{1,2}$/.test(env.HOSTED_PARTNER_ID ?? '')) return [];
  const message = 'HOSTED_PARTNER_ID has fewer than 3 digits: it may have lost a zero at its start';
  return [{ check: 'variables', state: 'warning', message }];
}

function readAddresses(context: Context): Setup['addresses'] {
  const links = context.env[toVariable('baseUrls', context)];
  const jobs = context.env[toVariable('jobStatusBaseUrls', context)] || links;
  return isHttpUrl(links) && isHttpUrl(jobs) ? { links, jobs } : null;
}
