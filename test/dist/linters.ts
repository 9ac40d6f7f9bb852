/** What publint and Are The Types Wrong say of the tarball, and how large it is. */

import { type Check, endsWell } from './check.ts';
import { mustRun, root, toolPath } from './project.ts';

const publint = toolPath('publint/src/cli.js');
const attw = toolPath('@arethetypeswrong/cli/dist/index.js');

export function linterChecks(tarball: string): readonly Check[] {
  return [
    {
      name: 'at most 2.2 MB unpacked',
      look: async () => {
        const args = ['pack', '--dry-run', '--ignore-scripts', '--json', '--loglevel=error'];
        const { stdout } = await mustRun('npm', args, { cwd: root });
        const [packed] = JSON.parse(stdout) as { unpackedSize: number }[];
        const size = packed?.unpackedSize ?? Number.NaN;
        return size <= 2_200_000 ? null : `It has ${size} bytes`;
      },
    },
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
