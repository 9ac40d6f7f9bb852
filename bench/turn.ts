/** A process of the bench. It prepares its block, and runs the block at each of its turns. */

import type { Block } from './blocks/block.ts';

/** A report of this process: the figures of a turn (none after preparing), or the reason for a failure. */
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
