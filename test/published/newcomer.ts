/** A newcomer: an empty folder, the tarball, and the README's blocks pasted as they stand. */

import { existsSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { takeCommands, takeFile } from './blocks.ts';
import { type Check, endsWell, printsJust } from './check.ts';
import { install, tested } from './consumer.ts';
import { printed } from './node-versions.ts';
import { makeProject, mustRun, nodes, root, writeFiles } from './project.ts';
import { withService } from './service.ts';

const firstCall = takeFile('README.md', 'first-call.mjs');
const tests = {
  'first.test.ts': takeFile('README.md', 'first.test.ts'),
  'msw.test.ts': takeFile('docs/testing.md', 'msw.test.ts'),
  // It tracks jobs, and none of the packages of tracking is installed.
  'test-your-code.test.ts': readFileSync(join(root, 'examples/test-your-code.test.ts'), 'utf8'),
};
const testRunners = [
  takeCommands('README.md', 'npm install --save-dev'),
  takeCommands('docs/testing.md', 'npm install --save-dev'),
].flatMap((command) => command.trim().split(' ').slice(3));

export function newcomerChecks(tarball: string): readonly Check[] {
  // One after the other, as a person would.
  return [{ name: 'A newcomer: the README’s first call, then its testing section', look: () => followReadme(tarball) }];
}

async function followReadme(tarball: string): Promise<string | null> {
  const cwd = await makeProject('newcomer');
  await mustRun('npm', ['init', '-y', '--loglevel=error'], { cwd });
  await install(cwd, [tarball]);
  return (
    (await makeFirstCall(cwd)) ?? (await doWithoutMsw(cwd)) ?? (await doWithoutDatabase(cwd)) ?? (await runTests(cwd))
  );
}

/** The README's first call, on the oldest Node and on this one. */
export async function makeFirstCall(cwd: string): Promise<string | null> {
  // As `npm init` leaves it the package is CommonJS, where only this extension takes import and await.
  await writeFiles(cwd, { 'first-call.mjs': firstCall });
  const kept = /^Keep \S+, and send the end user to https:\/\/\S+$/;
  const byNode = (node: string) => withService((env) => printsJust(kept, node, ['first-call.mjs'], { cwd, env }));
  return (await byNode(nodes['22.13.0'])) ?? (await byNode(nodes['24']));
}

async function doWithoutMsw(cwd: string): Promise<string | null> {
  await copyFile(join(root, 'test/published/consumers/call.ts'), join(cwd, 'call.mts'));
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
  return printsJust(told, process.execPath, ['track.mjs'], { cwd });
}

/** What the README and the page on tests say to install, and their tests. */
export async function runTests(cwd: string): Promise<string | null> {
  await install(cwd, [...new Set(testRunners)].map(tested), ['-D']);
  await writeFiles(cwd, tests);
  return endsWell(process.execPath, ['node_modules/vitest/vitest.mjs', 'run'], { cwd });
}
