/** Somebody with two terminals, an empty folder and the tarball, who does what docs/sandbox.md and docs/cli.md show. */

import { freePort, openSandbox, openTerminal, type Terminal } from '../support/terminal.ts';
import { takeCommands, takeFile } from './blocks.ts';
import type { Check } from './check.ts';
import { install, tested } from './consumer.ts';
import { makeProject, mustRun, ownEnvironment, writeFiles } from './project.ts';

const page = 'docs/sandbox.md';
const installation = takeCommands(page, 'npm install');
const sandbox = takeCommands(page, 'npx hosted-client sandbox\n');
const start = takeCommands(page, 'node ');
const story = takeCommands(page, 'at=');
const program = takeFile(page, 'server.mjs');

export function twoTerminalChecks(tarball: string): readonly Check[] {
  return [{ name: 'Two terminals: a sandbox, a link, its page, its callback in Express', look: () => follow(tarball) }];
}

async function follow(tarball: string): Promise<string | null> {
  const cwd = await makeProject('two-terminals');
  await mustRun('npm', ['init', '-y', '--loglevel=error'], { cwd });
  // The names as they stand, for the tarball and the version that was tested.
  const names = installation.trim().split(' ').slice(2);
  const packages = names.map((name) => (name === 'hosted-client' ? tarball : tested(name)));
  await install(cwd, packages);
  // What npm is set to on this machine may make it warn.
  const at = { cwd, env: { ...ownEnvironment(), npm_config_loglevel: 'error' } };
  const { origin, pasted, close } = await openSandbox(sandbox, at);
  let server: Terminal | null = null;
  try {
    const told = await openTerminal(story.replace('http://127.0.0.1:4085', origin), at).end();
    if (!told.startsWith('Your identity was verified\n')) return `The story by curl ends with: ${told}`;
    const port = String(await freePort());
    await writeFiles(cwd, { 'server.mjs': program.replaceAll('3000', port) });
    server = openTerminal(start, { ...at, pasted });
    const [, url = ''] = await server.shows(/^Open (\S+)$/m);
    await fetch(url, { method: 'POST', body: new URLSearchParams({ consent: 'yes', outcome: 'approved' }) });
    await server.shows(/^Job \S+: succeeded$/m);
    const report = await openTerminal(`npx hosted-client doctor --callback http://127.0.0.1:${port}/callbacks`, {
      ...at,
      pasted,
    }).end();
    return report.split('\n').every((line) => line === '' || line.startsWith('well ')) ? null : report;
  } finally {
    await server?.close();
    await close();
  }
}
