/** The package's testing kit under the test runners that people use, by the examples as they stand. */

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, endsWell, printsJust } from './check.ts';
import type { Consumer } from './consumer.ts';
import { nodes, root, run, toolPath, writeFiles } from './project.ts';

export function runnerChecks({ folder }: Consumer): readonly Check[] {
  return [
    {
      name: 'vitest runs examples/test-your-code.test.ts',
      look: async () => {
        const cwd = await copyExample(folder, 'vitest', 'test-your-code.test.ts');
        return endsWell(process.execPath, [join(folder, 'node_modules/vitest/vitest.mjs'), 'run'], { cwd });
      },
    },
    {
      name: 'jest runs examples/test-under-jest.js',
      look: async () => {
        const cwd = await copyExample(folder, 'jest', 'test-under-jest.js', 'test-under-jest.test.js');
        const args = [
          '--experimental-vm-modules',
          toolPath('jest/bin/jest.js'),
          '--rootDir',
          cwd,
          '--cacheDirectory',
          join(cwd, '.jest'),
        ];
        return endsWell(process.execPath, args, { cwd });
      },
    },
    {
      name: 'jest runs examples/test-under-jest.js without a flag, by @swc/jest',
      look: async () => {
        const cwd = await copyExample(folder, 'jest-swc', 'test-under-jest.js', 'test-under-jest.test.js');
        await writeFiles(cwd, { 'package.json': '{}', 'jest.config.json': JSON.stringify(swcConfig) });
        return endsWell(process.execPath, [toolPath('jest/bin/jest.js'), '--rootDir', cwd], { cwd });
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
  transformIgnorePatterns: ['/node_modules/(?!hosted-client/)'],
};

async function copyExample(consumer: string, name: string, example: string, as = example): Promise<string> {
  const folder = join(consumer, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await copyFile(join(root, 'examples', example), join(folder, as));
  return folder;
}
