/** The package's testing kit under the test runners that people use, by the examples as they stand. */

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, endsWell } from './check.ts';
import type { Consumer } from './consumer.ts';
import { nodes, root, toolPath } from './project.ts';

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
    ...(['24', '26.10.0'] as const).map((version) => ({
      name: `node:test of Node ${version} runs examples/test-under-node.ts`,
      look: async () => {
        const cwd = await copyExample(folder, `node-test-${version}`, 'test-under-node.ts');
        return endsWell(nodes[version], ['--test', 'test-under-node.ts'], { cwd });
      },
    })),
  ];
}

async function copyExample(consumer: string, name: string, example: string, as = example): Promise<string> {
  const folder = join(consumer, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await copyFile(join(root, 'examples', example), join(folder, as));
  return folder;
}
