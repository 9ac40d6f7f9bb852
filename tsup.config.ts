/** How the JavaScript of the package is made; `tsc -p src` makes its declarations. */

import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'testing/index': 'src/testing/index.ts',
    'testing/msw': 'src/testing/msw.ts',
  },
  format: 'esm',
  platform: 'neutral',
  target: 'es2023',
  splitting: true,
  clean: true,
  dts: false,
  // ky and zod come along, with their licences in THIRD-PARTY-NOTICES.md: of their 9 MB a twentieth is
  // used, and one file loads in a third of the time that theirs take.
  noExternal: ['ky', 'zod'],
  // tweetnacl asks for a module system as it loads, and few need it; msw is the user's own.
  external: ['tweetnacl', 'msw'],
  // It is readable as it stands; of what is bundled the sources are not there to map to.
  sourcemap: false,
});
