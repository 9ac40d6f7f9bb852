/** The blocks of the pages: a check takes those that it runs, so those that no check takes are known. */

import { type PageBlock, pages, readBlocks } from '../support/page-blocks.ts';

const blocks = pages.flatMap(readBlocks);
const taken = new Set<PageBlock>();

function take(wanted: string, isWanted: (block: PageBlock) => boolean): PageBlock {
  const [found, ...others] = blocks.filter(isWanted);
  if (found === undefined || others.length > 0) throw new Error(`There is not just one block for ${wanted}`);
  taken.add(found);
  return found;
}

/** What a page says to save as `file`. */
export function takeFile(page: string, file: string): string {
  return takeBlock(page, file).code;
}

/** The same, with what the page says to install for it. */
export function takeBlock(page: string, file: string): PageBlock {
  return take(`${file} of ${page}`, (block) => block.page === page && block.file === file);
}

/** The commands of a page that begin with these words. */
export function takeCommands(page: string, beginning: string): string {
  const isWanted = ({ page: of, language, code }: PageBlock) =>
    of === page && language === 'sh' && code.startsWith(beginning);
  return take(`"${beginning}" of ${page}`, isWanted).code;
}

/** Every block, and whether a check has taken it, or one with the same code on another page. */
export function census(): readonly (PageBlock & { readonly isTaken: boolean })[] {
  const run = new Set([...taken].map(({ code }) => code));
  return blocks.map((block) => ({ ...block, isTaken: run.has(block.code) }));
}
