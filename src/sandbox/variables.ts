/**
 * Writes shell commands that set the environment variables for a client of a sandbox. Most programs that read `.env`
 * files also accept these lines.
 *
 * @module
 */

import { quoteForShell } from '../local/shell.js';
import { type Environment, environments } from '../options.js';

/** The environments besides the default. */
export const furtherEnvironments = environments.filter((name) => name !== 'sandbox');

/** The URLs of a sandbox, and the key of a client. */
export interface Connection {
  readonly partnerId: string;
  /** Null if clients sign with Ed25519: no variable is written for an Ed25519 key. */
  readonly apiKey: string | null;
  readonly baseUrls: Readonly<Record<Environment, string>>;
}

/** How a shell, or a file, sets a variable. */
const lines = {
  sh: (name, value) => `export ${name}=${quoteForShell(value)}`,
  fish: (name, value) => `set -gx ${name} '${value.replaceAll(/[\\']/g, '\\$&')}'`,
  powershell: (name, value) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
  cmd: (name, value) => `set "${name}=${value}"`,
  env: (name, value) => `${name}=${quoteForShell(value)}`,
} satisfies Record<string, (name: string, value: string) => string>;

export type Shell = keyof typeof lines;

export const shells = Object.keys(lines) as readonly Shell[];

/** Finds the shell of a process by its variables. If they do not show it, `sh`. */
export function findShell(env: Readonly<Record<string, string | undefined>>): Shell {
  const isWindows = env.OS === 'Windows_NT';
  if (/[\\/]fish$/.test(env.SHELL ?? '')) return 'fish';
  // PowerShell sets `PSModulePath` for its programs. On Windows, all programs have it; and only `cmd` sets `PROMPT`.
  if (!isWindows) return env.PSModulePath === undefined ? 'sh' : 'powershell';
  if (env.SHELL !== undefined) return 'sh';
  return env.PROMPT === undefined ? 'powershell' : 'cmd';
}

/** Writes a line for each variable. */
export function writeVariables({ partnerId, apiKey, baseUrls }: Connection, shell: Shell = 'sh'): string {
  const variables = {
    HOSTED_PARTNER_ID: partnerId,
    ...(apiKey !== null && { HOSTED_API_KEY: apiKey }),
    HOSTED_ENVIRONMENT: 'sandbox',
    ...Object.fromEntries(environments.map((name) => [`HOSTED_${name.toUpperCase()}_BASE_URL`, baseUrls[name]])),
  };
  return Object.entries(variables)
    .map(([name, value]) => lines[shell](name, value))
    .join('\n');
}
