/** The package's testing kit under the test runners that people use, by the examples as they stand. */

import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { takeFile } from './blocks.ts';
import { type Check, endsWell, printsJust } from './check.ts';
import type { Consumer } from './consumer.ts';
import { makeProject, mustRun, nodes, root, run, toolPath, writeFiles } from './project.ts';

/** No test of a runner ends because the machine is busy. */
const patiently = '--testTimeout=300000';

export function runnerChecks({ folder, modules }: Consumer, tarball: string): readonly Check[] {
  return [
    {
      name: 'vitest runs examples/test-your-code.test.ts',
      look: async () => {
        const cwd = await copyExample(folder, 'vitest', 'test-your-code.test.ts');
        return endsWell(process.execPath, [join(folder, 'node_modules/vitest/vitest.mjs'), 'run', patiently], { cwd });
      },
    },
    {
      name: 'jest runs examples/test-under-jest.js',
      look: async () => {
        const cwd = await copyExample(folder, 'jest', 'test-under-jest.js', 'test-under-jest.test.js');
        const args = [
          '--experimental-vm-modules',
          toolPath('jest/bin/jest.js'),
          patiently,
          '--rootDir',
          cwd,
          '--cacheDirectory',
          join(cwd, '.jest'),
        ];
        return endsWell(process.execPath, args, { cwd });
      },
    },
    ...jestChecks(folder, tarball),
    ...clockChecks(modules),
    {
      name: 'jest runs examples/test-under-jest.js without a flag, by @swc/jest',
      look: async () => {
        const cwd = await copyExample(folder, 'jest-swc', 'test-under-jest.js', 'test-under-jest.test.js');
        await writeFiles(cwd, { 'package.json': '{}', 'jest.config.json': JSON.stringify(swcConfig) });
        return endsWell(process.execPath, [toolPath('jest/bin/jest.js'), patiently, '--rootDir', cwd], { cwd });
      },
    },
    {
      name: 'an unchanged program runs with node --import examples/mock-preload.mjs',
      look: async () => {
        const cwd = await copyExample(folder, 'preload', 'mock-preload.mjs');
        await copyFile(join(root, 'examples/list-all-links.ts'), join(cwd, 'list-all-links.ts'));
        const args = ['--import', './mock-preload.mjs', 'list-all-links.ts'];
        return printsJust(/^25 links are active\n20 of 25 are on the first page, 5 on the next$/, nodes['24'], args, {
          cwd,
        });
      },
    },
    {
      name: 'jest without flags says what to do about require()',
      look: async () => {
        const cwd = join(folder, 'jest-without-flags');
        await mkdir(cwd, { recursive: true });
        await writeFile(join(cwd, 'package.json'), '{}');
        await writeFile(join(cwd, 'app.test.js'), "require('hosted-client');");
        const args = [toolPath('jest/bin/jest.js'), '--rootDir', cwd, '--cacheDirectory', join(cwd, '.jest')];
        const { output } = await run(process.execPath, args, { cwd });
        return /import to load ES Module.*"transformIgnorePatterns"/s.test(output) ? null : output;
      },
    },
    ...(['24', '26.10.0'] as const).map((version) => ({
      name: `node:test of Node ${version} runs examples/test-under-node.ts`,
      look: async () => {
        const cwd = await copyExample(folder, `node-test-${version}`, 'test-under-node.ts');
        return endsWell(nodes[version], ['--test', 'test-under-node.ts'], { cwd });
      },
    })),
  ];
}

/** As examples/test-under-jest.js says it; the transformer is not in the consumer's own folder. */
const swcConfig = {
  transform: { '^.+\\.[cm]?[jt]sx?$': toolPath('@swc/jest') },
  transformIgnorePatterns: ['/node_modules/(?!(\\.pnpm|hosted-client)[/@])'],
};

/** What docs/testing.md says to save; the transformers are not in the consumers' own folders. */
const jestConfig: { readonly transform: object; readonly transformIgnorePatterns: readonly string[] } = JSON.parse(
  takeFile('docs/testing.md', 'jest.config.json').replace('"ts-jest"', JSON.stringify(toolPath('ts-jest'))),
);

/** As `nest new` of 11 writes them. */
const nestJest = {
  moduleFileExtensions: ['js', 'json', 'ts'],
  rootDir: 'src',
  testRegex: '.*\\.spec\\.ts$',
  testEnvironment: 'node',
};
const nestCompiler = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  resolvePackageJsonExports: true,
  esModuleInterop: true,
  isolatedModules: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  target: 'ES2023',
};

function jestChecks(consumer: string, tarball: string): readonly Check[] {
  const program = join(root, 'test/dist/consumers/under-jest.js');
  const runIn = (cwd: string, node: string, ...flags: string[]) =>
    endsWell(node, [...flags, toolPath('jest/bin/jest.js'), patiently, '--cacheDirectory', join(cwd, '.jest')], {
      cwd,
    });
  const makeNest = async (name: string, jest: object) => {
    const cwd = join(consumer, name);
    await writeFiles(cwd, {
      'package.json': JSON.stringify({ jest: { ...nestJest, ...jest } }),
      'tsconfig.json': JSON.stringify({ compilerOptions: nestCompiler }),
    });
    await cp(program, join(cwd, 'src/app.spec.ts'));
    return cwd;
  };
  return [
    {
      name: 'jest in the shape of Nest 11, by ts-jest, on Node 22.13.0',
      look: async () => runIn(await makeNest('nest', jestConfig), nodes['22.13.0']),
    },
    {
      name: 'jest in the shape of Nest 11, on Node 24 by its flag alone',
      look: async () => {
        const { transform } = jestConfig;
        return runIn(await makeNest('nest-by-flag', { transform }), nodes['24'], '--experimental-vm-modules');
      },
    },
    {
      name: "jest in pnpm's folders, by babel-jest, where jsdom is the environment",
      look: async () => {
        const transform = { '^.+\\.(t|j)sx?$': toolPath('babel-jest') };
        const jest = { ...jestConfig, transform, testEnvironment: toolPath('jest-environment-jsdom') };
        const presets = [[toolPath('@babel/preset-env'), { targets: { node: 'current' } }]];
        const cwd = await makeProject('pnpm', {
          'package.json': JSON.stringify({ private: true, dependencies: { 'hosted-client': `file:${tarball}` } }),
          'jest.config.json': JSON.stringify(jest),
          'babel.config.json': JSON.stringify({ presets }),
          'jsdom.test.js':
            "test('jsdom', () => expect([typeof TextEncoder, typeof fetch]).toEqual(Array(2).fill('undefined')));",
        });
        await cp(program, join(cwd, 'app.test.js'));
        await mustRun(nodes['24'], [toolPath('pnpm/bin/pnpm.cjs'), 'install', '--store-dir', '.store'], { cwd });
        return runIn(cwd, nodes['24']);
      },
    },
  ];
}

/** Fake timers that are there before the package is loaded. vitest's are in test/testing/fake-timers-first.test.ts. */
function clockChecks(modules: string): readonly Check[] {
  const install = {
    sinon: `import sinon from '${toolPath('sinon/pkg/sinon-esm.js')}'; sinon.useFakeTimers();`,
    'node:test': "import { mock } from 'node:test'; mock.timers.enable();",
  };
  const waits = "const { waitOnTestClock } = await import('./advance.js');";
  return [
    ...Object.entries(install).map(([name, first]) => ({
      name: `advance() moves a clock that is loaded under the fake timers of ${name}`,
      look: () => {
        const program = `${first} ${waits} console.log(await waitOnTestClock());`;
        const args = ['--no-warnings', '--input-type', 'module', '--eval', program];
        return printsJust('succeeded', nodes['24'], args, { cwd: modules });
      },
    })),
    {
      name: 'advance() moves a clock that is loaded under the fake timers of jest, new and old',
      look: async () => {
        const cwd = join(modules, 'fake-timers');
        const test = "import { waitOnTestClock } from '../advance.js';\n";
        const projects = [false, true].map((legacyFakeTimers) => ({
          fakeTimers: { enableGlobally: true, legacyFakeTimers },
          transform: {},
        }));
        await writeFiles(cwd, {
          'package.json': '{ "type": "module" }',
          'jest.config.json': JSON.stringify({ projects }),
          'clock.test.js': `${test}test('clock', async () => expect(await waitOnTestClock()).toBe('succeeded'));`,
        });
        return endsWell(nodes['24'], ['--experimental-vm-modules', toolPath('jest/bin/jest.js'), patiently], { cwd });
      },
    },
  ];
}

async function copyExample(consumer: string, name: string, example: string, as = example): Promise<string> {
  const folder = join(consumer, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await copyFile(join(root, 'examples', example), join(folder, as));
  return folder;
}
