/** What bundlers and Babel make of the package: it runs, and carries no more than is used. */

import { copyFile, readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type BuildOptions, build, transform } from 'esbuild';
import { type Check, endsWell, printsJust } from './check.ts';
import { type Consumer, writeProgram } from './consumer.ts';
import { printed } from './node-versions.ts';
import { mustRun, nodes, toolPath, writeFiles } from './project.ts';

/** A bundle on disk: its entry, and the text of the entry and of all that it loads at once. */
interface Bundle {
  readonly path: string;
  readonly text: string;
  readonly warnings: readonly string[];
}

type Bundler = (folder: string, name: string, source: string) => Promise<Bundle>;

const minifiers: Readonly<Record<string, Bundler>> = {
  'esbuild, ESM': (folder, name, source) => bundleByEsbuild(folder, name, source, { format: 'esm', splitting: true }),
  'esbuild, CommonJS': (folder, name, source) => bundleByEsbuild(folder, name, source, { format: 'cjs' }),
  Rollup: bundleByRollup,
};

const bundlers: Readonly<Record<string, Bundler>> = { ...minifiers, webpack: bundleByWebpack };

/** Texts that survive minifying, and tell who is in a bundle. */
const marks = {
  tweetnacl: 'bad public key size',
  'the Ed25519 signer': 'sign with Ed25519',
  'the HMAC signer': 'sign with HMAC-SHA256',
  'the client': 'create HostedClient',
  'the errors': 'HostedPollTimeoutError',
} as const;

type Mark = keyof typeof marks;

/** Programs that use a part of the package: what their bundle must have, and what must have fallen away. */
const partial: readonly { name: string; source: string; has: readonly Mark[]; hasNot: readonly Mark[] }[] = [
  {
    name: 'hmacSha256 alone',
    source: "import { hmacSha256 } from 'hosted-client'; console.log(hmacSha256({ apiKey: 'key' }).name);",
    has: ['the HMAC signer'],
    hasNot: ['tweetnacl', 'the Ed25519 signer', 'the client'],
  },
  {
    name: 'ed25519 alone',
    source: `import { ed25519 } from 'hosted-client';
      const [secretKey, servicePublicKey] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
      console.log(ed25519({ secretKey, servicePublicKey }).name);`,
    has: ['the Ed25519 signer'],
    hasNot: ['tweetnacl', 'the HMAC signer', 'the client'],
  },
  {
    name: 'HostedError alone',
    source: "import { HostedError } from 'hosted-client'; console.log(new Error() instanceof HostedError);",
    has: [],
    // Not the other errors: esbuild writes every file that is imported lazily, used or not, and beside the entry
    // what it shares with them.
    hasNot: ['tweetnacl', 'the Ed25519 signer', 'the HMAC signer', 'the client'],
  },
  {
    name: 'an import that is not used',
    source: "import { HostedClient } from 'hosted-client'; console.log('nothing');",
    has: [],
    hasNot: ['tweetnacl', 'the Ed25519 signer', 'the HMAC signer', 'the client', 'the errors'],
  },
  {
    name: 'the client',
    source: "import { HostedClient } from 'hosted-client'; console.log(HostedClient);",
    has: ['the client', 'the errors'],
    // Loaded with the first signature that needs it.
    hasNot: ['tweetnacl'],
  },
];

const missing = (name: string) => `the package "${name}" is not installed: npm install ${name}`;
const printedByAll = (inFolder: string, inDatabase: string) =>
  ['succeeded 405 0 200 2', inFolder, inDatabase].join('\n');
const withoutPeers = printedByAll(missing('@electric-sql/pglite'), missing('pg'));

/** What a bundle says of a database that is not there, where `pg` is installed. */
const withPg = {
  // pg asks for modules of Node by `require`, which esbuild cannot give to an ES module.
  'esbuild, ESM': 'the package "pg" could not be loaded (Error): leave it out of bundles',
  'esbuild, CommonJS': 'the database did not respond',
  webpack: 'the database did not respond',
} as const;

/** `equipped` has what `consumer` lacks: pg and PGlite. */
export function bundlerChecks(consumer: Consumer, equipped: string): readonly Check[] {
  const { folder, modules } = consumer;
  return [
    {
      name: 'Babel for ES2015: every entry',
      look: async () => {
        const cwd = await transpilePackage(folder);
        await copyFile(join(modules, 'every-entry.ts'), join(cwd, 'every-entry.ts'));
        return printsJust(withoutPeers, nodes['24'], ['every-entry.ts'], { cwd });
      },
    },
    ...Object.entries(withPg).flatMap(([bundler, inDatabase]) =>
      [
        { name: 'without', cwd: modules, printed: withoutPeers },
        { name: 'with', cwd: equipped, printed: printedByAll('tracks', inDatabase) },
      ].map(({ name, cwd, printed }) => ({
        name: `${bundler}: every entry, ${name} pg and PGlite`,
        look: async () => {
          const source = await readFile(join(modules, 'every-entry.ts'), 'utf8');
          const { path, warnings } = await (bundlers[bundler] as Bundler)(cwd, `every entry by ${bundler}`, source);
          // webpack says of each package that it is not there, also where it is asked for inside `try`.
          const others = warnings.filter((warning) => !/Can't resolve 'pg(?:-native)?'/.test(warning));
          return others.join('\n') || printsJust(printed, nodes['24'], [path], { cwd });
        },
      })),
    ),
    {
      name: 'The texts that tell who is in a bundle are those of today',
      look: async () => {
        const dist = join(folder, 'node_modules/hosted-client/dist');
        const files = (await readdir(dist)).filter((file) => file.endsWith('.js')).map((file) => join(dist, file));
        const all = [join(folder, 'node_modules/tweetnacl/nacl-fast.js'), ...files];
        const texts = await Promise.all(all.map((file) => readFile(file, 'utf8')));
        const unknown = Object.values(marks).filter((mark) => !texts.some((text) => text.includes(mark)));
        return unknown.length === 0 ? null : `Nobody says ${unknown.join(', ')}`;
      },
    },
    ...Object.entries(minifiers).map(([bundler, bundle]) => ({
      name: `${bundler}, minified: a call, and an error with its name, code and class`,
      look: async () => {
        const source = await readFile(join(modules, 'call.ts'), 'utf8');
        const { path } = await bundle(modules, `call by ${bundler}`, source);
        return printsJust(printed.call, process.execPath, [path]);
      },
    })),
    ...['esbuild, ESM', 'Rollup'].flatMap((bundler) =>
      partial.map(({ name, source, has, hasNot }) => ({
        name: `${bundler}, minified: ${name} carries no more`,
        look: async () => {
          const { path, text } = await (bundlers[bundler] as Bundler)(modules, `${name} by ${bundler}`, source);
          const missing = has.filter((mark) => !text.includes(marks[mark])).map((mark) => `It lacks ${mark}`);
          const idle = hasNot.filter((mark) => text.includes(marks[mark])).map((mark) => `It carries ${mark}`);
          return [...missing, ...idle].join('\n') || endsWell(process.execPath, [path]);
        },
      })),
    ),
    ...(['browser', 'neutral'] as const).map((platform) => ({
      name: `esbuild, platform ${platform}: builds without a word, and nothing of Node is in it`,
      look: () => bundleForPlatform(modules, platform),
    })),
  ];
}

async function bundleByEsbuild(folder: string, name: string, source: string, options: BuildOptions): Promise<Bundle> {
  const extension = options.format === 'cjs' ? '.cjs' : '.mjs';
  const outdir = join(folder, name);
  const { warnings } = await build({
    stdin: { contents: source, resolveDir: folder, loader: 'ts' },
    entryNames: 'main',
    bundle: true,
    minify: true,
    platform: 'node',
    outdir,
    outExtension: { '.js': extension },
    logLevel: 'silent',
    external: ['msw'],
    ...options,
  });
  return { ...(await readBundle(join(outdir, `main${extension}`))), warnings: warnings.map(({ text }) => text) };
}

async function bundleByRollup(folder: string, name: string, source: string): Promise<Bundle> {
  const input = await writeScript(folder, name, source);
  const dir = join(folder, name);
  const plugins = ['node-resolve', 'commonjs', 'terser'].flatMap((plugin) => ['-p', `@rollup/plugin-${plugin}`]);
  const names = ['--entryFileNames', 'main.mjs', '--chunkFileNames', '[hash].mjs'];
  const args = [toolPath('rollup/dist/bin/rollup'), input, '-d', dir, '-f', 'es', '--silent', ...names, ...plugins];
  await mustRun(process.execPath, args, { cwd: folder });
  return readBundle(join(dir, 'main.mjs'));
}

async function bundleByWebpack(folder: string, name: string, source: string): Promise<Bundle> {
  const entry = await writeScript(folder, name, source);
  const path = join(folder, name);
  const { default: webpack } = await import(toolPath('webpack/lib/index.js'));
  const stats = await new Promise<{
    toJson(options: object): Readonly<Record<'errors' | 'warnings', { message: string }[]>>;
  }>((resolve, reject) => {
    const output = { path, filename: 'main.mjs', module: true };
    const modules = {
      experiments: { outputModule: true },
      optimization: { minimize: false },
      externalsType: 'module',
      externals: ['msw'],
    };
    const done = (error: Error | null, found: never) => (error ? reject(error) : resolve(found));
    webpack({ mode: 'production', target: 'node22', context: folder, entry, output, ...modules }, done);
  });
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return { ...(await readBundle(join(path, 'main.mjs'))), warnings: warnings.map(({ message }) => message) };
}

/** A folder in which Babel has compiled all files of the package, as it does for old browsers. */
async function transpilePackage(folder: string): Promise<string> {
  const babel = createRequire(import.meta.url)(toolPath('@babel/core'));
  const presets = [[toolPath('@babel/preset-env'), { targets: { chrome: '51' }, modules: false }]];
  const from = join(folder, 'node_modules/hosted-client');
  const to = 'node_modules/hosted-client';
  const files: Record<string, string> = {
    'package.json': '{ "type": "module" }',
    [`${to}/package.json`]: await readFile(join(from, 'package.json'), 'utf8'),
  };
  for (const file of await readdir(join(from, 'dist'), { recursive: true })) {
    if (!file.endsWith('.js')) continue;
    const filename = join(from, 'dist', file);
    const options = { filename, presets, configFile: false, babelrc: false, compact: false };
    files[`${to}/dist/${file}`] = babel.transformSync(await readFile(filename, 'utf8'), options).code;
  }
  await writeFiles(join(folder, 'es2015'), files);
  return join(folder, 'es2015');
}

async function writeScript(folder: string, name: string, source: string): Promise<string> {
  const { code } = await transform(source, { loader: 'ts', tsconfigRaw: { compilerOptions: { target: 'es2023' } } });
  return writeProgram(folder, `${name}.mjs`, [code]);
}

async function readBundle(path: string): Promise<Bundle> {
  const text = await readFile(path, 'utf8');
  const chunks = [...text.matchAll(/(?:from|import)\s*"(\.\/[^"]+)"/g)].map(([, chunk]) => chunk ?? '');
  const others = await Promise.all(chunks.map((chunk) => readBundle(join(path, '..', chunk))));
  return { path, text: [text, ...others.map((other) => other.text)].join('\n'), warnings: [] };
}

async function bundleForPlatform(folder: string, platform: 'browser' | 'neutral'): Promise<string | null> {
  const { outputFiles, warnings } = await build({
    stdin: { contents: "export * from 'hosted-client';", resolveDir: folder },
    bundle: true,
    minify: true,
    platform,
    // For a browser, tweetnacl's manifest says what it can do without; a neutral bundle does not read that.
    ...(platform === 'neutral' && { mainFields: ['module', 'main'], external: ['tweetnacl'] }),
    format: 'esm',
    write: false,
    logLevel: 'silent',
  });
  const text = outputFiles.map((file) => file.text).join('\n');
  if (warnings.length > 0) return warnings.map((warning) => warning.text).join('\n');
  if (!text.includes(marks['the client'])) return 'It lacks the client';
  const ofNode = text.match(/["']node:[\w/]+["']|\b(?:require|import|from)\s*\(?["'](?:crypto|buffer)["']/g);
  return ofNode === null ? null : `It asks for ${ofNode.join(', ')}`;
}
