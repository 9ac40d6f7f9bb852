/** The packed package in throw-away projects: packs it, makes folders for it, runs commands in them. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the package's own sources. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** The folder whose manifest has the tools that only these checks need. */
const tools = fileURLToPath(new URL('./tools/', import.meta.url));

const workFolder = mkdtempSync(join(tmpdir(), 'hosted-client-published-'));
process.once('exit', () => rmSync(workFolder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export interface RunOptions {
  readonly cwd?: string;
  /** Beside the variables of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Outcome {
  /** Whether the command ended by itself, with status 0. */
  readonly ok: boolean;
  readonly stdout: string;
  /** What it wrote to both streams, for people. */
  readonly output: string;
}

/** After so long a command is ended, and has failed. */
const timeoutMs = 300_000;

/** Runs a command to its end; a failure is an outcome, never a rejection. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { cwd = workFolder, env } = options;
  const settings = {
    cwd,
    env: { ...ownEnvironment(), ...env },
    timeout: timeoutMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve) => {
    execFile(command, args, settings, (error, stdout, stderr) => {
      const end = error?.killed ? `Ended after ${timeoutMs} ms` : typeof error?.code === 'string' ? error.message : '';
      resolve({ ok: error === null, stdout, output: `${stdout}${stderr}${end}`.trim() });
    });
  });
}

/** The variables without what `npm run` sets about this package: npm in another folder must not take it for its own. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^npm_(?!config_)|^npm_config_local_prefix$|^NODE_OPTIONS$|^INIT_CWD$|^FORCE_COLOR$/;
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: '1' };
}

/** Runs a command that must succeed: rejects with its output when it does not. */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const outcome = await run(command, args, options);
  if (!outcome.ok) throw new Error(`Cannot run "${command} ${args.join(' ')}":\n${outcome.output}`);
  return outcome;
}

/** Packs the package as it stands built, into a temporary folder; gives the tarball's path. */
export async function packTarball(): Promise<string> {
  const args = ['pack', '--ignore-scripts', '--json', '--loglevel=error', '--pack-destination', workFolder];
  const { stdout } = await mustRun('npm', args, { cwd: root });
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  if (packed === undefined) throw new Error('Cannot pack the package: npm names no file');
  return join(workFolder, packed.filename);
}

/** Makes an empty folder under the temporary one, with `files` in it; gives its path. */
export async function makeProject(name: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const project = join(workFolder, name);
  await mkdir(project, { recursive: true });
  await writeFiles(project, files);
  return project;
}

/** Writes files below a folder, by their paths in it. */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** Installs the tools of these checks. */
export function installTools(): Promise<void> {
  return installFrom(tools);
}

/** Installs what the lock file of a folder says, where that is newer than what is there. */
export async function installFrom(folder: string): Promise<void> {
  const changedAt = async (path: string) => (await stat(join(folder, path)).catch(() => null))?.mtimeMs ?? 0;
  const [locked, installed] = await Promise.all(
    ['package-lock.json', 'node_modules/.package-lock.json'].map(changedAt),
  );
  if ((installed ?? 0) < (locked ?? 0)) await mustRun('npm', ['ci', '--loglevel=error'], { cwd: folder });
}

/** The path of a file of a tool, such as `publint/src/cli.js`. */
export function toolPath(path: string): string {
  return join(tools, 'node_modules', path);
}

/** The Node that runs these checks, and the others that the package is for. */
export const nodes = {
  '22.13.0': toolPath('node-22/bin/node'),
  '24': process.execPath,
  '26.10.0': toolPath('node-26/bin/node'),
} as const;
