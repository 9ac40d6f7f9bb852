/** The README, from top to bottom: an empty folder, the tarball, three terminals, and each block once, as printed. */

import { existsSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { readBlocks } from '../support/page-blocks.ts';
import { freePort, openTerminal, type Terminal } from '../support/terminal.ts';
import { takeCommands, takeFile } from './blocks.ts';
import { type Check, endsWell, printsJust } from './check.ts';
import { install, tested } from './consumer.ts';
import { printed } from './node-versions.ts';
import { makeProject, ownEnvironment, root, writeFiles } from './project.ts';

/** What the commands of a block print, where that is looked at. */
const prints: Readonly<Record<string, RegExp>> = {
  'node --env-file=.env first-call.mjs': /^Keep \S+, and send the end user to http:\S+\n$/,
  'npx hosted-client play approved': /^User id +\S+\nJob id +\S+\n$/,
  'node --env-file=.env status.mjs': /^not verified: Failed Enroll 1 results\n$/,
  'node --env-file=.env wait.mjs': /^(?:poll \d: pending\n)+poll \d: succeeded\nverified: .+\n$/,
  'npx vitest run': /Tests +2 passed/,
};

/** Of the blocks, those for a clone: the gate runs them there. */
const isForClone = (code: string) => code.startsWith('npm ci');

const blocks = readBlocks('README.md').filter(({ code, partOf }) => partOf === null && !isForClone(code));
for (const { file, code } of blocks) {
  if (file === null) takeCommands('README.md', code);
  else takeFile('README.md', file);
}

export function readmeChecks(tarball: string): readonly Check[] {
  return [{ name: 'README.md, each block in its order, in three terminals', look: () => follow(tarball) }];
}

async function follow(tarball: string): Promise<string | null> {
  // As npm itself begins in an empty folder.
  const cwd = await makeProject('readme', { 'package.json': '{}' });
  // What npm is set to on this machine may make it warn.
  const at = { cwd, env: { ...ownEnvironment(), npm_config_loglevel: 'error' } };
  // Another program may have the ports of the page.
  const port = String(await freePort());
  const waiting = new Set(Object.keys(prints));
  const running: Terminal[] = [];
  let server: Terminal | null = null;
  const stay = (command: string) => {
    const terminal = openTerminal(command, at);
    running.push(terminal);
    return terminal;
  };
  try {
    for (const { file, language, code } of blocks) {
      if (file !== null) await writeFiles(cwd, { [file]: code.replaceAll(':3000', `:${port}`) });
      if (language !== 'sh') continue;
      for (const command of code.trim().split('\n')) {
        if (command.startsWith('npm install ')) await installNames(command, cwd, tarball);
        else if (command.includes(' sandbox ')) {
          await stay(command.replace(' sandbox ', ' sandbox --port 0 ')).shows(/^Ctrl\+C stops it\.$/m);
          Object.assign(at.env, { HOSTED_SANDBOX_BASE_URL: variablesIn(cwd).HOSTED_SANDBOX_BASE_URL, PORT: port });
        } else if (command.endsWith(' server.mjs')) server = stay(command);
        else {
          const output = await openTerminal(command, at).end();
          if (prints[command]?.test(output) === false) return `${command} prints: ${output}`;
          waiting.delete(command);
          const [, url] = /send the end user to (\S+)/.exec(output) ?? [];
          if (url !== undefined) await openLink(url);
        }
      }
    }
    for (const state of ['succeeded', 'failed'])
      await server?.shows(new RegExp(`^change \\w{64}: the job is ${state}$`, 'm'));
    if (waiting.size > 0) return `README.md has no command ${[...waiting].join(', ')}`;
    return (await askDoctor(cwd, port)) ?? (await doWithoutMsw(cwd)) ?? (await doWithoutDatabase(cwd));
  } finally {
    for (const terminal of running) await terminal.close();
  }
}

const variablesIn = (cwd: string) => parseEnv(readFileSync(join(cwd, '.env'), 'utf8'));

/** The names as they stand, for the tarball and the versions that are tested. */
async function installNames(command: string, cwd: string, tarball: string): Promise<void> {
  const names = command.split(' ').slice(2);
  const packages = names.filter((name) => !name.startsWith('-'));
  const flags = names.filter((name) => name.startsWith('-'));
  await install(
    cwd,
    packages.map((name) => (name === 'hosted-client' ? tarball : tested(name))),
    flags,
  );
}

/** What an end user does on the page. */
async function openLink(url: string): Promise<void> {
  await fetch(url, { method: 'POST', body: new URLSearchParams({ consent: 'yes', outcome: 'approved' }) });
}

async function askDoctor(cwd: string, port: string): Promise<string | null> {
  const env = { ...ownEnvironment(), ...variablesIn(cwd), npm_config_loglevel: 'error' };
  const command = `npx hosted-client doctor --callback http://127.0.0.1:${port}/callbacks`;
  const report = await openTerminal(command, { cwd, env }).end();
  return report.split('\n').every((line) => line === '' || line.startsWith('well ')) ? null : report;
}

async function doWithoutMsw(cwd: string): Promise<string | null> {
  await copyFile(join(root, 'test/dist/consumers/call.ts'), join(cwd, 'call.mts'));
  return printsJust(printed.call, process.execPath, ['call.mts'], { cwd });
}

/** None of the packages of tracking was installed, and who tracks is told which to install. */
async function doWithoutDatabase(cwd: string): Promise<string | null> {
  const installed = ['pg', '@electric-sql/pglite'].filter((name) => existsSync(join(cwd, 'node_modules', name)));
  if (installed.length > 0) return `${installed.join(', ')} came along`;
  await writeFiles(cwd, {
    'track.mjs': `import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker } from 'hosted-client/tracking';

const client = new HostedClient(createMockService().sandbox.clientOptions);
const error = await createTracker({ client, connectionString: 'postgresql://127.0.0.1/x' }).catch((thrown) => thrown);
console.log(error.code, error.reason, error.message);
`,
  });
  const told = /^storage peer_missing Cannot create a tracker: the package "pg" .*: npm install pg$/;
  // The tracker for tests needs none of them.
  await copyFile(join(root, 'examples/test-your-code.test.ts'), join(cwd, 'test-your-code.test.ts'));
  return (
    (await printsJust(told, process.execPath, ['track.mjs'], { cwd })) ??
    (await endsWell('npx', ['vitest', 'run', 'test-your-code.test.ts'], { cwd }))
  );
}
