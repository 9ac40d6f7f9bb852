/**
 * Detects whether the platform's fetch would send a request through a proxy named in environment variables. Deno and
 * Bun always use such a proxy. Node uses it only with `--use-env-proxy` or `NODE_USE_ENV_PROXY=1`. The runtimes read
 * `NO_PROXY` differently. An exception in `NO_PROXY` counts only if tests have shown that the runtime applies it. If
 * this file applied an exception that the runtime does not apply, the proxy could read a request's signature.
 *
 * @module
 */

import { readProperty } from './untrusted-objects.js';

/** The facts about the process that decide whether a proxy is used. */
export interface ProcessFacts {
  readonly runtime: 'node' | 'bun' | 'deno';
  readonly read: (name: string) => string | undefined;
  /** The command-line options of the runtime. */
  readonly execArgv: readonly string[];
}

/** Whether a request to this URL would go through a proxy; false if the platform has no `process`. */
export function usesEnvProxy(url: string, facts: ProcessFacts | null = readProcessFacts()): boolean {
  const to = new URL(url);
  return facts !== null && hasProxy(to, facts) && !isExcepted(to, facts);
}

function hasProxy({ protocol }: URL, facts: ProcessFacts): boolean {
  const { runtime, read } = facts;
  const own = protocol.slice(0, -1);
  const readBoth = (name: string) => [read(`${name}_proxy`), read(`${name}_proxy`.toUpperCase())];
  if (runtime !== 'node') return [own, 'all'].flatMap(readBoth).some(Boolean);
  // Without a proxy for https, Node uses that for http. A variable in lower case counts even if it is empty.
  return isEnabledInNode(facts) && ['http', own].map(readBoth).some(([lower, upper]) => Boolean(lower ?? upper));
}

/** Whether Node's fetch uses the proxy that environment variables name. */
export function isEnabledInNode({ read, execArgv }: ProcessFacts): boolean {
  // Arguments override NODE_OPTIONS, and both override NODE_USE_ENV_PROXY.
  const flags = [...(read('NODE_OPTIONS') ?? '').split(' '), ...execArgv].map((flag) => flag.replaceAll('_', '-'));
  const last = flags.findLast((flag) => flag === '--use-env-proxy' || flag === '--no-use-env-proxy');
  return last === undefined ? read('NODE_USE_ENV_PROXY') === '1' : last === '--use-env-proxy';
}

function isExcepted({ hostname, port, protocol }: URL, { runtime, read }: ProcessFacts): boolean {
  if (runtime === 'deno') {
    // Deno's `NO_PROXY` has host names in lower case, without ports, separated by commas.
    const entries = (read('NO_PROXY') ?? read('no_proxy') ?? '').split(',').map((entry) => entry.trim());
    return entries.includes(hostname.replaceAll(/[[\]]/g, ''));
  }
  const excepted = (read('no_proxy') ?? read('NO_PROXY') ?? '').toLowerCase();
  const entries = excepted.split(/[,\s]/);
  const defaultPort = protocol === 'https:' ? '443' : '80';
  return excepted === '*' || entries.includes(hostname) || entries.includes(`${hostname}:${port || defaultPort}`);
}

/** Reads the facts of this process; null if the platform has no `process`. */
export function readProcessFacts(): ProcessFacts | null {
  const { process, Deno, Bun } = globalThis as Globals;
  const env = process?.env;
  if (!env) return null;
  // Deno would ask the user for a missing permission to read a variable. So a variable without permission counts as not
  // set.
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
