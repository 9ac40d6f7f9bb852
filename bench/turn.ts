/** One process of a bench: prepares its block, and runs it each time its turn comes. */

import type { Block } from './blocks/block.ts';

/** What the process reports: of preparing nothing, of a turn its figures, or why there are none. */
export type Report = { readonly figures: Readonly<Record<string, number>> } | { readonly failed: string };

const [name, settings = ''] = process.argv.slice(2);

async function report(work: () => Promise<Readonly<Record<string, number>>>): Promise<void> {
  const found: Report = await work().then(
    (figures) => ({ figures }),
    (error: unknown) => ({ failed: String(error) }),
  );
  process.send?.(found);
}

let block: Block;
process.on('message', () => void report(block));
process.on('disconnect', () => process.exit());
await report(async () => {
  const { prepare } = (await import(`./blocks/${name}.ts`)) as { prepare(settings: unknown): Promise<Block> };
  block = await prepare(JSON.parse(settings));
  return {};
});
