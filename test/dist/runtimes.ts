/**
 * Runs the contracts (`contract.js`) on every runtime the package is for, with the packed package, and
 * checks that a browser is refused: `npm run check:runtimes`. The runtimes come from the manifest in
 * `runtimes/`, at most two of them run at a time, and the last line sums up.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createContext, Script } from 'node:vm';
import { build } from 'esbuild';
import { expectJust } from './check.ts';
import { type ContractServer, startContractServer } from './contract-server.ts';
import { installFrom, makeProject, mustRun, packTarball, run, writeFiles } from './project.ts';
import { whileServing } from './serve-program.ts';
import { accepted, deliverThree, withService } from './service.ts';

/** The folder of the manifest, and of what starts the contracts. */
const folder = fileURLToPath(new URL('./runtimes/', import.meta.url));
const installed = (path: string) => join(folder, 'node_modules', path);

/** After so long a runtime does not respond, however busy the machine is. */
const patienceMs = 300_000;

/** What one contract came to: null, or what is wrong. */
interface Result {
  readonly name: string;
  readonly problem: string | null;
}

/** A runtime, and how the contracts are run on it. */
interface Runtime {
  /** `Bun` */
  readonly name: string;
  /** Its name in the manifest, which says the version. */
  readonly dependency: string;
  readonly binary: string;
  /** Behind the binary, to run the contracts. Not there: `contractsInWorkerd` runs them. */
  readonly args?: readonly string[];
  /** For which reasons its errors say that a request did not leave. */
  readonly tells: readonly ('refused' | 'no name' | 'no TLS' | 'certificate')[];
  /** Whether the caller's function is in the stack of every error. */
  readonly showsCallers?: boolean;
  /** Said behind its line. */
  readonly note?: string;
}

const node = (line: string): Runtime => ({
  name: 'Node',
  dependency: `node-${line}`,
  binary: installed(`node-${line}/bin/node`),
  args: ['run.js'],
  tells: ['refused', 'no name', 'no TLS', 'certificate'],
  showsCallers: true,
});

/** Where Deno keeps what it compiles. */
const ofDeno = (project: string) => ({ DENO_DIR: join(project, '.deno'), DENO_NO_UPDATE_CHECK: '1' });
const denoArgs = ['run', '--no-prompt', '--cached-only', '--allow-net', '--allow-env'];

const runtimes: readonly Runtime[] = [
  ...['22.13', '22.20', '24.21', '26.10'].map(node),
  {
    ...node('24.21'),
    name: 'jsdom in Node',
    args: ['run-in-jsdom.js'],
    showsCallers: false,
  },
  ...['bluebird', 'zone.js'].map((library) => ({
    ...node('24.21'),
    name: `${library} in Node`,
    args: ['run-with-promises.js', library],
    showsCallers: false,
  })),
  {
    name: 'Bun',
    dependency: 'bun',
    binary: installed('bun/bin/bun.exe'),
    args: ['run.js'],
    tells: ['refused', 'no name', 'certificate'],
    note: 'a TLS handshake that fails counts as unknown; stacks do not name the caller',
  },
  {
    name: 'Deno',
    dependency: 'deno',
    binary: installed('deno/deno'),
    args: [...denoArgs, 'run.js'],
    tells: ['refused', 'no name', 'no TLS', 'certificate'],
    showsCallers: true,
  },
  {
    name: 'workerd',
    dependency: 'workerd',
    binary: installed('workerd/bin/workerd'),
    tells: [],
    note: 'its errors do not say whether a request left: each counts as unknown',
  },
];

let passed = 0;
let failed = 0;

function note(ok: boolean, line: string, details: readonly string[] = []): void {
  console.log([`${ok ? 'ok' : 'failed'} ${line}`, ...details.map((detail) => `  ${detail}`)].join('\n'));
}

// Installing ----------------------------------------------------------------

/** A project with the packed package in it, and the contracts. */
async function installPackage(): Promise<string> {
  const project = await makeProject('runtimes', { 'package.json': '{ "private": true, "type": "module" }' });
  const tarball = await packTarball();
  await mustRun('npm', ['install', '--no-save', '--loglevel=error', tarball], { cwd: project });
  const ours = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const shared = ['contract.js', 'stacks.js', '../../examples/recipes/hono-on-workers.ts'].map(ours);
  const files = (await readdir(folder)).filter((file) => /\.(?:js|capnp)$/.test(file));
  for (const path of [...shared, ...files.map((file) => join(folder, file))]) {
    await copyFile(path, join(project, basename(path)));
  }
  return project;
}

/** The versions of the manifest, by the names of its dependencies. */
async function readVersions(): Promise<ReadonlyMap<string, string>> {
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return new Map(Object.entries(dependencies).map(([name, range]) => [name, range.replace(/^npm:.*@/, '')]));
}

// Contracts -----------------------------------------------------------------

const { contracts } = (await import(new URL('./contract.js', import.meta.url).href)) as {
  contracts: readonly object[];
};

/** Runs the contracts on a runtime, against a server of its own. */
async function runOn(runtime: Runtime, version: string, project: string): Promise<void> {
  const { name, args, tells, note: remark } = runtime;
  const server = await startContractServer();
  const title = `${name} ${version}`;
  try {
    await checkVersion(runtime, version);
    const { origin, refusing, account, failing, authority } = server;
    await writeFile(authorityFile(runtime, project), authority);
    const surroundings = JSON.stringify({ origin, refusing, account, failing, tells });
    const results = await (args ? contractsBy : contractsInWorkerd)(runtime, surroundings, project);
    if (results.length < contracts.length) throw new Error(`It ran ${results.length} of ${contracts.length} contracts`);
    const problems = results.filter(({ problem }) => problem !== null);
    passed += results.length - problems.length;
    failed += problems.length;
    const count = `${results.length - problems.length} of ${results.length}`;
    const details = problems.map((each) => `${each.name}: ${each.problem}`);
    note(problems.length === 0, `${title}: ${count}${remark ? ` (${remark})` : ''}`, details);
    if (runtime.showsCallers) await runStacksOn(runtime, title, project);
  } catch (error) {
    failed += 1;
    note(false, `${title}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await server.close();
  }
}

/** Looks for the caller's function in the stack of every error. */
async function runStacksOn(runtime: Runtime, title: string, project: string): Promise<void> {
  const args = (runtime.args ?? []).map((arg) => (arg === 'run.js' ? 'run-stacks.js' : arg));
  const results = await contractsBy({ ...runtime, args }, '{}', project);
  const problems = results.filter(({ problem }) => problem !== null);
  const ok = problems.length === 0 && results.length > 3_000;
  if (ok) passed += 1;
  else failed += 1;
  const details = problems.map((each) => `${each.name}: ${each.problem}`);
  note(ok, `${title}: the caller is in ${results.length - problems.length} of ${results.length} stacks`, details);
}

async function checkVersion({ name, binary }: Runtime, version: string): Promise<void> {
  const { stdout } = await mustRun(binary, ['--version']);
  // workerd tells the day it was made on, which its version has without dashes.
  const told = name === 'workerd' ? stdout.replaceAll('-', '') : stdout;
  const expected = name === 'workerd' ? (version.split('.')[1] ?? '') : version;
  if (!told.includes(expected)) throw new Error(`It says that it is ${stdout.trim()}`);
}

/** The certificate that a runtime has to trust. */
function authorityFile({ name, dependency }: Runtime, project: string): string {
  return join(project, `${name} ${dependency}.pem`);
}

/** By a command that prints the results. */
async function contractsBy(runtime: Runtime, surroundings: string, project: string): Promise<Result[]> {
  const { binary, args = [] } = runtime;
  const env = {
    NODE_EXTRA_CA_CERTS: authorityFile(runtime, project),
    DENO_CERT: authorityFile(runtime, project),
    CONTRACT_SURROUNDINGS: surroundings,
    RUNTIMES_MANIFEST: join(folder, 'package.json'),
    ...ofDeno(project),
  };
  const { stdout } = await mustRun(binary, args, { cwd: project, env });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Result[];
}

/** Inside workerd, which answers requests with the results. */
async function contractsInWorkerd(_: Runtime, surroundings: string, project: string): Promise<Result[]> {
  await bundle(join(project, 'worker.js'), join(project, 'worker.bundle.js'), 'esm');
  const env = { CONTRACT_SURROUNDINGS: surroundings };
  return whileWorkerd(['workerd.capnp', project, env], async (origin) => {
    const ask = async (query: string) => {
      const response = await fetch(`${origin}/${query}`, { signal: AbortSignal.timeout(patienceMs) });
      if (!response.ok) throw new Error(`It answers ${response.status}: ${await response.text()}`);
      return (await response.json()) as Result[];
    };
    // A client that was made while the worker loaded is shared by its requests.
    const sharing = Array.from({ length: 8 }, () => ask('?named=a client made while a module loads'));
    const shared = (await Promise.all(sharing)).flat();
    if (shared.length !== sharing.length) throw new Error('It ran nothing on a client that requests share');
    return [...(await ask('')), ...shared.filter(({ problem }) => problem !== null)];
  });
}

/** Runs workerd by one of its configurations, and `work` with where it listens; ends it. */
async function whileWorkerd<T>(
  [config, cwd, env]: readonly [config: string, cwd: string, env: Readonly<Record<string, string>>],
  work: (origin: string) => Promise<T>,
): Promise<T> {
  const child = spawn(installed('workerd/bin/workerd'), ['serve', '--control-fd=3', config], {
    cwd,
    env: { ...process.env, ...env },
    // What goes wrong is in the results; its own log repeats it.
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  try {
    const port = await Promise.race([
      portOf(child.stdio[3] as NodeJS.ReadableStream),
      afterWaiting('It does not listen'),
      exited.then(() => Promise.reject(new Error('It ends before it listens'))),
    ]);
    return await work(`http://127.0.0.1:${port}`);
  } finally {
    child.kill();
    await exited;
  }
}

async function afterWaiting(message: string): Promise<never> {
  await setTimeout(patienceMs, undefined, { ref: false });
  throw new Error(message);
}

async function portOf(control: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: control })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number };
    if (event === 'listen') return port;
  }
  throw new Error('It does not say where it listens');
}

/** As a bundler does for Workers and browsers. */
async function bundle(entry: string, outfile: string, format: 'esm' | 'iife'): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format,
    globalName: 'bundle',
    platform: 'browser',
    external: ['node:*', 'cloudflare:*'],
    // For the framework of a recipe; the package is in the project itself.
    nodePaths: [fileURLToPath(new URL('../../node_modules', import.meta.url))],
  });
}

// Other surroundings --------------------------------------------------------

type Check = (project: string, server: ContractServer) => Promise<string | null>;

/** Where a program sends nothing: how it is started, and what its error names. */
interface Unsent {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly names: string;
}

const behindProxy = { HTTPS_PROXY: 'PROXY', NODE_USE_ENV_PROXY: '1' };
const mayNot = 'this process may not connect to';
const unsent: readonly (Unsent & { readonly what: string })[] = [
  {
    what: 'Deno without --allow-net sends nothing, and says so',
    binary: installed('deno/deno'),
    args: ['run', '--no-prompt', '--cached-only', '--allow-env', 'unsent.js'],
    names: mayNot,
  },
  {
    what: "Node's permission model without --allow-net sends nothing, and says so",
    binary: installed('node-26.10/bin/node'),
    args: ['--permission', '--allow-fs-read=*', 'unsent.js'],
    names: mayNot,
  },
  ...[
    { runtime: 'Node 24', binary: installed('node-24.21/bin/node'), args: ['unsent.js'] },
    { runtime: 'Node 26', binary: installed('node-26.10/bin/node'), args: ['unsent.js'] },
    { runtime: 'Bun', binary: installed('bun/bin/bun.exe'), args: ['unsent.js'] },
    { runtime: 'Deno', binary: installed('deno/deno'), args: [...denoArgs, 'unsent.js'] },
  ].map(({ runtime, ...row }) => ({
    what: `${runtime} behind a proxy with 407 sends nothing, and names the proxy`,
    ...row,
    env: behindProxy,
    names: 'the proxy wants a user and password',
  })),
];

async function sendsNothing(
  { binary, args, env = {}, names }: Unsent,
  project: string,
  { account, failing }: ContractServer,
): Promise<string | null> {
  // What leads to this machine may not go through a proxy.
  const host = Object.keys(env).length > 0 ? 'service.example' : failing.expired;
  const options = { ...account, baseUrls: { sandbox: `https://${host}` }, maxRetries: 0 };
  const source = `
    import { HostedClient } from 'hosted-client';
    const link = { companyName: 'a', dataPrivacyPolicyUrl: 'https://a.test', callbackUrl: 'https://a.test' };
    await new HostedClient(${JSON.stringify(options)}).links.create(link).then(
      () => console.log('sent'),
      ({ name, outcome, message }) => console.log(name, outcome, message.includes(${JSON.stringify(names)}) ? 'named' : message),
    );
    // What was not sent may keep Deno from ending by itself.
    globalThis.Deno?.exit();`;
  const file = `unsent-${failing.expired?.split(':')[1]}.js`;
  await writeFiles(project, { [file]: source });
  const started = args.map((arg) => (arg === 'unsent.js' ? file : arg));
  const proxied = Object.entries(env).map(([name, value]) => [
    name,
    value.replace('PROXY', `http://${failing['a proxy with 407']}`),
  ]);
  const ownEnv = { ...ofDeno(project), ...Object.fromEntries(proxied) };
  const { output } = await run(binary, started, { cwd: project, env: ownEnv });
  return output.split('\n').includes('HostedConnectionError not_sent named') ? null : output;
}

/** Checks of one thing each: null, or what is wrong. */
const checks: readonly (readonly [string, Check])[] = [
  ['A browser is refused', refusedByBrowser],
  ...unsent.map(({ what, ...row }): readonly [string, Check] => [what, (...given) => sendsNothing(row, ...given)]),
  [
    'The recipe for Hono, on workerd: 1.5 MB, the same again, and a forged callback',
    (project) => receiveInWorkerd(project, 'hono-on-workers.ts'),
  ],
  ['The handler as the function of a Worker', (project) => receiveInWorkerd(project, 'worker-handler.js')],
  ['The handler as the function of Bun.serve()', (project) => serveHandler(project, installed('bun/bin/bun.exe'), [])],
  ['The handler as the function of Deno.serve()', (project) => serveHandler(project, installed('deno/deno'), denoArgs)],
  ['Tracing channels on workerd, with a subscriber and without', traceInWorkerd],
];

/** A bundle of the client, in a context that has what a page has: it starts without the document alone. */
async function refusedByBrowser(project: string): Promise<string | null> {
  const source = `
    import { HostedClient } from 'hosted-client';
    const options = { partnerId: '085', apiKey: 'key', baseUrls: { sandbox: 'https://service.example' } };
    try {
      new HostedClient(options);
      globalThis.told = 'started';
    } catch ({ name, code, message }) {
      globalThis.told = [name, code, message].join(': ');
    }`;
  await writeFiles(project, { 'page.js': source });
  const outfile = join(project, 'page.bundle.js');
  await bundle(join(project, 'page.js'), outfile, 'iife');
  const script = new Script(await readFile(outfile, 'utf8'));
  const webGlobals = { URL, TextEncoder, TextDecoder, AbortController, AbortSignal, Headers, Request, Response, fetch };
  const told = (surroundings: Readonly<Record<string, unknown>>) => {
    const context = createContext({ ...webGlobals, crypto, atob, btoa, setTimeout, clearTimeout, ...surroundings });
    script.runInContext(context);
    return String(context.told);
  };
  const inPage = told({ window: {}, document: {} });
  if (
    !/^HostedConfigError: config: .*browser.*secret key|^HostedConfigError: config: .*secret key.*browser/.test(inPage)
  ) {
    return `In a page: ${inPage}`;
  }
  const outside = told({});
  return outside === 'started' ? null : `Without a document: ${outside}`;
}

/** A program with a handler, bundled as wrangler does it, by the configuration of the recipe for Hono. */
async function receiveInWorkerd(project: string, program: string): Promise<string | null> {
  const name = program.slice(0, program.lastIndexOf('.'));
  await bundle(join(project, program), join(project, `${name}.bundle.js`), 'esm');
  const config = await readFile(join(project, 'hono.capnp'), 'utf8');
  await writeFiles(project, { [`${name}.capnp`]: config.replaceAll('hono-on-workers', name) });
  return withService((env, service) =>
    whileWorkerd([`${name}.capnp`, project, env], async (origin) =>
      expectJust(accepted, await deliverThree(service, `${origin}/callbacks`)),
    ),
  );
}

function serveHandler(cwd: string, binary: string, args: readonly string[]): Promise<string | null> {
  return withService(async (env, service) => {
    const serving = [...args, 'serve-handler.js'];
    const deliver = (url: string) => deliverThree(service, url);
    return expectJust(accepted, await whileServing(serving, cwd, { ...env, ...ofDeno(cwd) }, deliver, binary));
  });
}

/** Calls, waits and deliveries where workerd has `node:diagnostics_channel`. */
async function traceInWorkerd(project: string): Promise<string | null> {
  await bundle(join(project, 'traced.js'), join(project, 'traced.bundle.js'), 'esm');
  const told = await withService((env) =>
    whileWorkerd(['traced.capnp', project, env], async (origin) =>
      (await fetch(origin, { signal: AbortSignal.timeout(patienceMs) })).text(),
    ),
  );
  const outcome = { created: true, failure: 'not_found', state: 'succeeded', status: 200 };
  const expected = {
    without: { ...outcome, stores: [null, null], events: [null] },
    with: { ...outcome, stores: ['traced', 'traced'], events: ['traced'] },
    ends: [
      ...['call: ok 200 -', 'call: refused 404 not_found', 'call: ok 200 -', 'wait: ok - -'],
      ...['call: ok 200 -', 'callback: accepted 200 -'],
    ],
  };
  return told === JSON.stringify(expected) ? null : told;
}

async function runCheck([name, check]: (typeof checks)[number], project: string): Promise<void> {
  const server = await startContractServer();
  const problem = await check(project, server).catch(String).finally(server.close);
  if (problem === null) passed += 1;
  else failed += 1;
  note(problem === null, problem === null ? name : `${name}: ${problem}`);
}

// ---------------------------------------------------------------------------

/** Does everything, at most two at a time. */
async function twoByTwo(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const left = tasks.values();
  const work = async () => {
    for (const task of left) await task();
  };
  await Promise.all([work(), work()]);
}

const [project, versions] = await Promise.all([installPackage(), readVersions(), installFrom(folder)]);
await twoByTwo([
  ...runtimes.map((runtime) => () => runOn(runtime, versions.get(runtime.dependency) ?? '', project)),
  ...checks.map((check) => () => runCheck(check, project)),
]);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
