/** The blocks of code in the pages that come with the package, and what each page says of them. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');

export interface PageBlock {
  readonly page: string;
  readonly language: string;
  readonly code: string;
  /** `server.mjs`: what the page says to save it as. */
  readonly file: string | null;
  /** `examples/sign.ts`: what the page says it is a part of. */
  readonly partOf: string | null;
  /** What the page says to install for it. */
  readonly installs: readonly string[];
}

/** The pages that come with the package and may have code. */
export const pages: readonly string[] = [
  'README.md',
  ...(JSON.parse(read('package.json')) as { files: readonly string[] }).files.filter((path) => path.endsWith('.md')),
];

/** The blocks of a page, in its order. */
export function readBlocks(page: string): readonly PageBlock[] {
  const fences = [
    ...read(page).matchAll(/(?<lead>(?:(?!^```|^#+ )[^\n]*\n)*?)^```(?<language>\w+)\n(?<code>[\s\S]*?)^```$/gm),
  ];
  return fences.map(({ groups: { lead = '', language = '', code = '' } = {} }) => ({
    page,
    language,
    code,
    file: /\bsave th(?:is|ese) \w+ as \[?`([^`]+)`/i.exec(lead)?.[1] ?? null,
    partOf: /\ba part of (?:\[|`node_modules\/hosted-client\/)(examples\/[\w./-]+)/i.exec(lead)?.[1] ?? null,
    installs: namesIn(lead),
  }));
}

/** What a page installs, in its commands and in its sentences. */
export function packagesOf(page: string): readonly string[] {
  return namesIn(read(page));
}

function namesIn(text: string): readonly string[] {
  const commands = [...text.matchAll(/\bnpm install (?:--save-dev )?([^`\n#]+)/g)];
  return [...new Set(commands.flatMap(([, names = '']) => names.trim().split(/\s+/)))];
}
