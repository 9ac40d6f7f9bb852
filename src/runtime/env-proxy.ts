/**
 * Whether the platform's fetch would send plain http through a proxy that the environment names. Deno and
 * Bun always do; Node does when it is told to. Which hosts `NO_PROXY` excepts differs between them: here only
 * what the runtime at hand was seen to except counts, as a request that goes to a proxy carries its signature.
 *
 * @module
 */

import { readProperty } from './prototype.js';

/** What of the process decides. */
export interface ProcessFacts {
  readonly runtime: 'node' | 'bun' | 'deno';
  /** Reads an environment variable. */
  readonly read: (name: string) => string | undefined;
  /** The runtime's own arguments. */
  readonly execArgv: readonly string[];
}

/** Whether a request to this http URL would go through a proxy. Without a process there is none. */
export function usesEnvProxy(url: string, facts: ProcessFacts | null = processFacts()): boolean {
  if (facts === null || !namesProxy(facts)) return false;
  return !isExcepted(new URL(url), facts);
}

function namesProxy(facts: ProcessFacts): boolean {
  const { runtime, read } = facts;
  if (runtime === 'node') return isEnabledInNode(facts) && Boolean(read('http_proxy') ?? read('HTTP_PROXY'));
  return ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'].some((name) => Boolean(read(name)));
}

// An argument overrules NODE_OPTIONS, and both the variable.
function isEnabledInNode({ read, execArgv }: ProcessFacts): boolean {
  const flags = [...(read('NODE_OPTIONS') ?? '').split(' '), ...execArgv].map((flag) => flag.replaceAll('_', '-'));
  const last = flags.findLast((flag) => flag === '--use-env-proxy' || flag === '--no-use-env-proxy');
  return last === undefined ? read('NODE_USE_ENV_PROXY') === '1' : last === '--use-env-proxy';
}

function isExcepted({ hostname, port }: URL, { runtime, read }: ProcessFacts): boolean {
  if (runtime === 'deno') {
    // Bare addresses, in small letters, between commas.
    const entries = (read('NO_PROXY') ?? read('no_proxy') ?? '').split(',').map((entry) => entry.trim());
    return entries.includes(hostname.replaceAll(/[[\]]/g, ''));
  }
  const excepted = (read('no_proxy') ?? read('NO_PROXY') ?? '').toLowerCase();
  const entries = excepted.split(/[,\s]/);
  return excepted === '*' || entries.includes(hostname) || entries.includes(`${hostname}:${port || '80'}`);
}

/** What is there of a process; null where there is none. */
function processFacts(): ProcessFacts | null {
  const { process, Deno, Bun } = globalThis as Globals;
  const env = process?.env;
  if (!env) return null;
  // Deno asks its user for a variable that the program may not read: then nothing is known of it.
  const isGranted = (variable: string) => Deno?.permissions.querySync({ name: 'env', variable }).state === 'granted';
  return {
    runtime: Deno ? 'deno' : Bun ? 'bun' : 'node',
    read: (name) => (Deno && !isGranted(name) ? undefined : (readProperty(env, name) as string | undefined)),
    execArgv: process.execArgv ?? [],
  };
}

interface Globals {
  readonly process?: { readonly env?: object; readonly execArgv?: readonly string[] };
  readonly Deno?: { readonly permissions: { querySync(what: object): { readonly state: string } } };
  readonly Bun?: object;
}
