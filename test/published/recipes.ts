/** The recipes in an empty folder: the tarball and a framework installed, the block of docs/recipes.md pasted. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import ts from 'typescript';
import type { Check } from './check.ts';
import { heldVersions, tested } from './consumer.ts';
import { makeProject, mustRun, root, run, writeFiles } from './project.ts';
import { deliverThree, withService } from './service.ts';

const page = readFileSync(join(root, 'docs/recipes.md'), 'utf8');
const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code ?? '');

/** The block that a recipe begins with these words. */
function blockOf(beginning: string): string {
  const found = blocks.filter((block) => block.startsWith(beginning));
  if (found.length !== 1) throw new Error(`docs/recipes.md has ${found.length} blocks with "${beginning}"`);
  return found[0] ?? '';
}

const frameworks = ['express', 'fastify', 'hono', '@hono/node-server', 'reflect-metadata', 'rxjs'];
const nest = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express'];

export function recipeChecks(tarball: string): readonly Check[] {
  let project: Promise<string> | undefined;
  const inProject = () => {
    project ??= makeRecipes(tarball);
    return project;
  };
  return [
    ...['Express', 'Fastify', 'Hono on Node', 'Nest', 'Lambda'].map((name) => ({
      name: `The recipe for ${name}, in a folder of its own: 1.5 MB, the same again, and a forged callback`,
      look: async () => {
        const cwd = await inProject();
        return withService((env, service) =>
          whileServing(['serve.js', name], cwd, { ...env, PORT: '0' }, async (url) =>
            expectJust('200 200 401', await deliverThree(service, url)),
          ),
        );
      },
    })),
    {
      name: 'The recipe for Next: builds without its variables, serves on Node and on Edge',
      look: () => next(tarball),
    },
  ];
}

async function makeRecipes(tarball: string): Promise<string> {
  const cwd = await makeProject('recipes', {
    'package.json': JSON.stringify({ private: true, type: 'module', overrides: heldVersions }),
    'receive-with-express.ts': readFileSync(join(root, 'examples/receive-with-express.ts'), 'utf8'),
    'receive-with-fastify.ts': blockOf('/** Callbacks with Fastify'),
    'hono-on-node.ts': blockOf('/** Hono on Node'),
    'receive-with-lambda.ts': blockOf('/** Callbacks on AWS Lambda'),
    'receive-with-nest.js': transpile(blockOf('/** NestJS')),
  });
  await copyFile(join(root, 'test/published/recipes/serve.js'), join(cwd, 'serve.js'));
  await mustRun('npm', ['install', '--loglevel=error', tarball, ...[...frameworks, ...nest].map(tested)], { cwd });
  return cwd;
}

/** Decorators with their types, as Nest's own compiler does it. */
function transpile(source: string): string {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  return outputText;
}

async function next(tarball: string): Promise<string | null> {
  const cwd = await makeProject('next');
  for (const file of ['package.json', 'package-lock.json', 'tsconfig.json']) {
    await copyFile(join(root, 'test/published/next', file), join(cwd, file));
  }
  for (const folder of ['app', 'lib']) {
    await cp(join(root, 'examples/recipes/next', folder), join(cwd, folder), { recursive: true });
  }
  await mustRun('npm', ['ci', '--loglevel=error'], { cwd });
  await mustRun('npm', ['install', '--no-save', '--loglevel=error', tarball], { cwd });
  return (await buildPage(cwd)) ?? (await buildAndServe(cwd));
}

const nextBin = 'node_modules/next/dist/bin/next';
const quiet = { NEXT_TELEMETRY_DISABLED: '1', CI: '1' };

/** A component of the browser that imports the client must fail the build. */
async function buildPage(cwd: string): Promise<string | null> {
  await writeFiles(cwd, {
    'app/layout.tsx': 'export default ({ children }: any) => <html lang="en"><body>{children}</body></html>;\n',
    'app/page.tsx': [
      "'use client';",
      "import { client } from '@/lib/hosted';",
      'export default function Page() { return <p>{client.environment}</p>; }',
      '',
    ].join('\n'),
  });
  const { ok, output } = await run(process.execPath, [nextBin, 'build'], { cwd, env: quiet });
  for (const file of ['app/layout.tsx', 'app/page.tsx', '.next']) await rm(join(cwd, file), { recursive: true });
  if (ok) return 'A component of the browser that imports the client was built';
  return output.includes('It should only be used from a Server Component')
    ? null
    : `The build failed for another reason:\n${output}`;
}

async function buildAndServe(cwd: string): Promise<string | null> {
  await mustRun(process.execPath, [nextBin, 'build'], { cwd, env: quiet });
  return withService((env, service) =>
    whileServing([nextBin, 'start', '-H', '127.0.0.1', '-p', '0'], cwd, { ...quiet, ...env }, async (url) => {
      const onNode = await deliverThree(service, `${url}/api/callbacks`);
      const onEdge = await deliverThree(service, `${url}/api/edge-callbacks`);
      return expectJust('200 200 401, 200 200 401', `${onNode}, ${onEdge}`);
    }),
  );
}

function expectJust(expected: string, seen: string): string | null {
  return seen === expected ? null : `The statuses are ${seen}, not ${expected}`;
}

/** Runs a server, and `work` with the URL that it prints; ends the server. */
async function whileServing<T>(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let complaints = '';
  child.stderr.on('data', (data: Buffer) => {
    complaints += data;
  });
  const timer = setTimeout(() => child.kill(), 60_000);
  try {
    return await work(await urlIn(child.stdout, () => complaints));
  } finally {
    clearTimeout(timer);
    child.kill();
    await exited;
  }
}

async function urlIn(output: NodeJS.ReadableStream, complaints: () => string): Promise<string> {
  const lines = createInterface({ input: output });
  for await (const line of lines) {
    const [url] = /http:\/\/\S+/.exec(line) ?? [];
    if (url === undefined) continue;
    // What is printed after it must not fill the pipe.
    output.resume();
    return url;
  }
  throw new Error(`It does not say where it listens: ${complaints()}`);
}
