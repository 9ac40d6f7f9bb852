/** `import` and `require()` of every entry, on every Node the package is for. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { type Check, printsJust } from './check.ts';
import { type Consumer, writeProgram } from './consumer.ts';
import { nodes } from './project.ts';

/** What the consumers' programs print when all is well. */
export const printed = {
  call: 'succeeded HostedServerError server true true',
  'call-under-msw': '3',
  'call-sandbox': 'succeeded 200',
  'await-import': 'failed',
} as const;

const forms = {
  import: { format: 'esm', extension: 'mjs' },
  'require()': { format: 'cjs', extension: 'cjs' },
} as const;

export function nodeChecks({ modules }: Consumer): readonly Check[] {
  return Object.entries(nodes).flatMap(([version, node]) => [
    ...Object.entries(forms).map(([way, { format, extension }]) => ({
      name: `Node ${version}, ${way} of every entry`,
      look: async () => {
        for (const program of ['call', 'call-under-msw', 'call-sandbox'] as const) {
          const source = await readFile(join(modules, `${program}.ts`), 'utf8');
          const { code } = await transform(source, { loader: 'ts', format, platform: 'node' });
          const path = await writeProgram(modules, `${program}-${version}.${extension}`, [code]);
          const problem = await printsJust(printed[program], node, [path]);
          if (problem !== null) return problem;
        }
        return null;
      },
    })),
    {
      name: `Node ${version}, one identity of what is imported and required`,
      look: () => printsJust('the same', node, [join(modules, 'identity.cjs')]),
    },
  ]);
}
