/** TypeScript, old and new, strict and with `skipLibCheck` off: programs compile, and what comes out runs. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, printsJust } from './check.ts';
import type { Consumer } from './consumer.ts';
import { printed } from './node-versions.ts';
import { nodes, root, run } from './project.ts';

type Compiler = '5.9' | '6' | '7';
type Options = Readonly<Record<string, unknown>>;

const compilers: Readonly<Record<Compiler, string>> = {
  '5.9': 'node_modules/typescript-5.9/lib/tsc.js',
  '6': 'node_modules/typescript/lib/tsc.js',
  '7': 'node_modules/@typescript/native/bin/tsc',
};

interface Resolution {
  readonly name: string;
  readonly form: 'modules' | 'commonjs';
  readonly options: Options;
  /** With the program for msw: its declarations alone take seconds, so not everywhere. */
  readonly withMsw?: true;
  /** Where it exists; everywhere unless said. */
  readonly only?: readonly Compiler[];
}

const resolutions: readonly Resolution[] = [
  { name: 'module nodenext', form: 'modules', options: { module: 'nodenext' }, withMsw: true },
  { name: 'module nodenext from CommonJS', form: 'commonjs', options: { module: 'nodenext' } },
  {
    name: 'module esnext with moduleResolution bundler',
    form: 'modules',
    options: { module: 'esnext', moduleResolution: 'bundler' },
    withMsw: true,
  },
  { name: 'module preserve', form: 'modules', options: { module: 'preserve' } },
  // Its resolution is node10 up to TypeScript 5.9, which knows `main`, `types` and `typesVersions` and no
  // `exports`, and bundler from 6 on.
  { name: 'module commonjs', form: 'commonjs', options: { module: 'commonjs' } },
  // TypeScript 6 has node10 for the last time, deprecated; 7 refuses the option.
  {
    name: 'module commonjs with moduleResolution node10',
    form: 'commonjs',
    options: { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
    only: ['6'],
  },
];

const surroundings: Readonly<Record<string, Options>> = {
  'lib dom, no @types/node': { lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] },
  '@types/node, no lib dom': { lib: ['es2023'], types: ['node'] },
};

const strictness: Options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  // TypeScript's own declarations are no business of ours, and take longer than all the rest.
  skipDefaultLibCheck: true,
  target: 'es2022',
  // As in a workspace or a library: the compiler has to name the type of each value that is exported.
  declaration: true,
};

export function compilerChecks(consumer: Consumer): readonly Check[] {
  return (Object.keys(compilers) as Compiler[]).flatMap((compiler) => [
    ...resolutions
      .filter(({ only }) => only?.includes(compiler) ?? true)
      .flatMap((resolution) =>
        Object.keys(surroundings).map((around) => compilesAndRuns(consumer, compiler, resolution, around)),
      ),
    ...node16Checks(consumer, compiler),
  ]);
}

function compilesAndRuns(consumer: Consumer, compiler: Compiler, resolution: Resolution, around: string): Check {
  const { name, form, options, withMsw } = resolution;
  // msw's own declarations want lib dom.
  const forMsw = withMsw && around.startsWith('lib dom') ? ['call-under-msw.ts'] : [];
  const files = ['strict.ts', 'accepted.ts', 'declared.ts', 'call.ts', 'await-import.ts', ...forMsw];
  return {
    name: `TypeScript ${compiler}, ${name}, ${around}`,
    look: async () => {
      const settings = { ...strictness, ...surroundings[around], ...options };
      const { ok, output, outDir } = await compile(consumer[form], compiler, settings, files);
      if (!ok) return output;
      return printsJust(printed.call, nodes['22.13.0'], [join(outDir, 'call.js')]);
    },
  };
}

// Made for Node 16 and 18, they know no `require()` of an ES module: `await import()` is what is left.
function node16Checks({ commonjs }: Consumer, compiler: Compiler): readonly Check[] {
  return ['node16', 'node18'].map((module) => ({
    name: `TypeScript ${compiler}, module ${module} from CommonJS, by await import(): a plain import is TS1479`,
    look: async () => {
      const settings = { ...strictness, ...surroundings['lib dom, no @types/node'], module };
      const { output, outDir } = await compile(commonjs, compiler, settings, ['await-import.ts', 'call.ts']);
      const errors = output.split('\n').filter((line) => line.includes('error TS'));
      const isAsMeant = errors.length > 0 && errors.every((line) => /call\.ts.* error TS1479/.test(line));
      if (!isAsMeant) return output || 'A plain import compiles by now';
      return printsJust(printed['await-import'], nodes['22.13.0'], [join(outDir, 'await-import.js')]);
    },
  }));
}

let projects = 0;

async function compile(folder: string, compiler: Compiler, compilerOptions: Options, files: readonly string[]) {
  projects += 1;
  const outDir = join(folder, `out-${projects}`);
  const config = join(folder, `tsconfig-${projects}.json`);
  await writeFile(config, JSON.stringify({ compilerOptions: { ...compilerOptions, outDir }, files }));
  const outcome = await run(process.execPath, [join(root, compilers[compiler]), '-p', config]);
  return { ...outcome, outDir };
}
