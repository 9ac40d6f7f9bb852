/**
 * The packed package in apps of frameworks that build: `npm run check:frameworks -- next-14`, or another folder of
 * `frameworks/`. They take minutes, so the nightly workflow runs them.
 */

import { readFileSync } from 'node:fs';
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { freePort } from '../support/terminal.ts';
import { takeFile } from './blocks.ts';
import { type Check, endsWell, expectJust, lookAt } from './check.ts';
import { install, tested } from './consumer.ts';
import { makeProject, mustRun, packTarball, root, run, writeFiles } from './project.ts';
import { whileServing } from './serve-program.ts';
import { accepted, deliverThree, withService } from './service.ts';

type Files = Readonly<Record<string, string>>;

const page = 'docs/recipes.md';
const node = process.execPath;
const quiet = { NEXT_TELEMETRY_DISABLED: '1', NUXT_TELEMETRY_DISABLED: '1', CI: '1' };
const next = 'node_modules/next/dist/bin/next';
const shown = ['lib/hosted.ts', 'app/api/callbacks/route.ts'];
/** The page says how they differ from the route that it shows. */
const linked = ['app/api/edge-callbacks/route.ts', 'pages/api/pages-callbacks.ts'];
const nextRecipe = Object.fromEntries([
  ...shown.map((file) => [file, takeFile(page, file)]),
  ...linked.map((file) => [file, readFileSync(join(root, 'examples/recipes/next', file), 'utf8')]),
]);
const layout = 'export default ({ children }: any) => <html lang="en"><body>{children}</body></html>;\n';

/** What the mock service calls its first link. */
const nameOfLink = 'Link 1';

const names = ['next-14', 'next-16', 'nuxt', 'nest'] as const;
type Name = (typeof names)[number];

const chosen = names.filter((name) => process.argv.length === 2 || process.argv.includes(name));
const tarball = await packTarball();
const { passed, failed } = await lookAt(chosen.map(checkOf));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && chosen.length > 0 ? 0 : 1;

function checkOf(name: Name): Check {
  switch (name) {
    case 'next-14':
      return { name: 'Next 14: a page shows links, and no response is stored', look: showLinks };
    case 'next-16':
      return { name: 'Next 16, by Turbopack: the recipe, a tracker, and no key in the browser', look: followNext };
    case 'nuxt':
      return { name: 'Nuxt 4: callbacks by toWebRequest(), and the event itself is told apart', look: receiveWithNuxt };
    case 'nest':
      return { name: "Nest 11's starter: builds, receives, and its jest runs", look: followNest };
  }
}

/** Installs the app of a folder and the tarball; gives where it is. */
async function makeApp(name: Name, files: Files): Promise<string> {
  const cwd = await makeProject(name);
  await cp(join(root, 'test/dist/frameworks', name), cwd, { recursive: true });
  await writeFiles(cwd, files);
  await mustRun('npm', ['ci', '--loglevel=error'], { cwd });
  await install(cwd, [tarball]);
  return cwd;
}

/** A page that is rendered anew each time, and one that Next 14 renders when it builds. */
async function showLinks(): Promise<string | null> {
  const show = `import { client } from '@/lib/hosted';
    export default async function Page() {
      const { links } = await client.links.list();
      return <p>{links.map(({ name }) => name).join()}</p>;
    }\n`;
  const cwd = await makeApp('next-14', {
    ...nextRecipe,
    'app/layout.tsx': layout,
    'app/anew/page.tsx': `${show}export const dynamic = 'force-dynamic';\n`,
    'app/built/page.tsx': show,
  });
  return withService(async (env, service) => {
    service.sandbox.links.seed(1);
    await mustRun(node, [next, 'build'], { cwd, env: { ...quiet, ...env } });
    const problem = await serveNext(cwd, env, async (url) => {
      const pages = [await textOf(`${url}/anew`), await textOf(`${url}/built`)];
      const callbacks = await deliverThree(service, `${url}/api/callbacks`);
      return expectJust([true, true, accepted], [...pages.map((text) => text.includes(nameOfLink)), callbacks]);
    });
    return problem ?? expectJust([], await storedNames(join(cwd, '.next/cache/fetch-cache')));
  });
}

/** The responses that Next has written down, and that have a name in their body, which is base64. */
async function storedNames(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder).catch(() => []);
  const bodies = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      const [, body = ''] = /"body":"([^"]*)"/.exec(text) ?? [];
      return Buffer.from(body, 'base64').toString();
    }),
  );
  return bodies.filter((body) => body.includes(nameOfLink));
}

async function followNext(): Promise<string | null> {
  const cwd = await makeApp('next-16', {
    ...nextRecipe,
    'app/api/track/route.ts': `import { createTracker } from 'hosted-client/tracking';
      import { client } from '@/lib/hosted';
      export const dynamic = 'force-dynamic';
      export const GET = () =>
        createTracker({ client, folder: 'tracked' }).then(
          async (tracker) => new Response('tracks', { headers: await tracker.stop().then(() => ({})) }),
          ({ message }) => new Response(message),
        );\n`,
  });
  const problem =
    (await buildForBrowser(cwd)) ??
    (await buildAndServe(cwd, /^Cannot create a tracker: the package "@electric-sql\/pglite" is not installed/));
  if (problem !== null) return problem;
  await install(cwd, ['pg', '@electric-sql/pglite'].map(tested));
  return buildAndServe(cwd, /^tracks$/);
}

/** A component of the browser that imports the client must fail the build. */
async function buildForBrowser(cwd: string): Promise<string | null> {
  await writeFiles(cwd, {
    'app/layout.tsx': layout,
    'app/page.tsx': [
      "'use client';",
      "import { client } from '@/lib/hosted';",
      'export default function Page() { return <p>{client.environment}</p>; }',
      '',
    ].join('\n'),
  });
  const { ok, output } = await run(node, [next, 'build'], { cwd, env: quiet });
  for (const file of ['app/layout.tsx', 'app/page.tsx', '.next']) await rm(join(cwd, file), { recursive: true });
  if (ok) return 'A component of the browser that imports the client was built';
  return output.includes('It should only be used from a Server Component')
    ? null
    : `The build failed for another reason:\n${output}`;
}

async function buildAndServe(cwd: string, tracking: RegExp): Promise<string | null> {
  await mustRun(node, [next, 'build'], { cwd, env: quiet });
  return withService((env, service) =>
    serveNext(cwd, env, async (url) => {
      const onNode = await deliverThree(service, `${url}/api/callbacks`);
      const onEdge = await deliverThree(service, `${url}/api/edge-callbacks`);
      const onPages = await deliverThree(service, `${url}/api/pages-callbacks`);
      const tracked = await textOf(`${url}/api/track`);
      return expectJust(
        [accepted, accepted, accepted, true],
        [onNode, onEdge, onPages, tracking.test(tracked) || tracked],
      );
    }),
  );
}

async function serveNext<T>(cwd: string, env: Files, work: (url: string) => Promise<T>): Promise<T> {
  const args = [next, 'start', '-H', '127.0.0.1', '-p', String(await freePort())];
  return whileServing(args, cwd, { ...quiet, ...env }, work);
}

async function receiveWithNuxt(): Promise<string | null> {
  const cwd = await makeApp('nuxt', {});
  await mustRun(node, ['node_modules/nuxt/bin/nuxt.mjs', 'build'], { cwd, env: quiet });
  return withService(async (env, service) => {
    const variables = { ...env, HOST: '127.0.0.1', PORT: String(await freePort()) };
    return whileServing(['.output/server/index.mjs'], cwd, variables, async (url) => {
      const callbacks = await deliverThree(service, `${url}/api/callbacks`);
      const mistaken = await textOf(`${url}/api/event`, { method: 'POST', body: '{}' });
      const tracked = await textOf(`${url}/api/track`);
      const told = [mistaken.includes('toWebRequest(event)'), tracked.includes('npm install @electric-sql/pglite')];
      return expectJust([accepted, true, true], [callbacks, ...told]);
    });
  });
}

/** `nest new` of 11, with the recipe in it, and a test that gives the recipe a client of the mock service. */
async function followNest(): Promise<string | null> {
  const { transformIgnorePatterns } = JSON.parse(takeFile('docs/testing.md', 'jest.config.json'));
  const cwd = await makeApp('nest', {
    'src/receive-with-nest.ts': takeFile(page, 'receive-with-nest.ts'),
    'src/main.ts': `import { createApp } from './receive-with-nest';
      void createApp().then(async (app) => {
        await app.listen(0, '127.0.0.1');
        console.log(await app.getUrl());
      });\n`,
    'src/receive-with-nest.spec.ts': `import { Test } from '@nestjs/testing';
      import { HostedClient } from 'hosted-client';
      import { createMockService } from 'hosted-client/testing';
      import { AppModule, Verifications } from './receive-with-nest';
      it('invites', async () => {
        const { sandbox, fetch } = createMockService();
        const client = new HostedClient({ ...sandbox.clientOptions, fetch });
        const testing = Test.createTestingModule({ imports: [AppModule] });
        const app = await testing.overrideProvider(HostedClient).useValue(client).compile();
        expect(await app.get(Verifications).invite('user-1')).toMatch(/^https:/);
      });\n`,
    'jest.config.json': JSON.stringify({
      moduleFileExtensions: ['js', 'json', 'ts'],
      rootDir: 'src',
      testRegex: '.*\\.spec\\.ts$',
      transform: { '^.+\\.(t|j)s$': 'ts-jest' },
      testEnvironment: 'node',
      transformIgnorePatterns,
    }),
  });
  await mustRun(node, ['node_modules/@nestjs/cli/bin/nest.js', 'build'], { cwd, env: quiet });
  const served = await withService((env, service) =>
    whileServing(['dist/main.js'], cwd, env, async (url) =>
      expectJust(accepted, await deliverThree(service, `${url}/callbacks`)),
    ),
  );
  return served ?? endsWell(node, ['node_modules/jest/bin/jest.js'], { cwd });
}

async function textOf(url: string, init?: RequestInit): Promise<string> {
  return (await fetch(url, init)).text();
}
