/** What publint and Are The Types Wrong say of the tarball. */

import { type Check, endsWell } from './check.ts';
import { toolPath } from './project.ts';

const publint = toolPath('publint/src/cli.js');
const attw = toolPath('@arethetypeswrong/cli/dist/index.js');

export function linterChecks(tarball: string): readonly Check[] {
  return [
    {
      name: 'publint --strict',
      look: () => endsWell(process.execPath, [publint, 'run', '--strict', tarball]),
    },
    {
      name: 'attw --profile esm-only',
      look: () => endsWell(process.execPath, [attw, '--profile', 'esm-only', tarball]),
    },
    {
      // The profile leaves the oldest resolver out; only that CommonJS meets ES modules is known and meant.
      name: 'attw, the oldest resolver too',
      look: () => endsWell(process.execPath, [attw, '--ignore-rules', 'cjs-resolves-to-esm', '--', tarball]),
    },
  ];
}
