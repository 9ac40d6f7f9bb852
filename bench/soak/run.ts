/**
 * The command `npm run soak` makes 100,000 calls in one process. It fails if heap, handles, listeners or sockets have
 * grown by more than `bounds` allows, and after any warning or unhandled rejection. A number after the command sets the
 * number of calls.
 */

import { type Holdings, soak } from './soak.ts';

/** The allowed growth of each value. */
const bounds = { heapBytes: 4 * 1024 * 1024, handles: 2, listeners: 0, sockets: 0 };

const { gc } = globalThis;
if (!gc) throw new Error('Run node with --expose-gc');
const calls = Number(process.argv[2] ?? 100_000);
let unhandled = 0;
process.on('unhandledRejection', () => {
  unhandled += 1;
});
const startedAt = performance.now();
const soaked = await soak({
  calls,
  concurrency: 50,
  collect: () => void gc(),
  onProgress: (ended, heapBytes) => console.log(`${String(ended).padStart(9)} calls    heap ${megabytes(heapBytes)}`),
});
const { before, after, endings, mostListeners, mostSockets, warnings } = soaked;
const handles = (holdings: Holdings) => Object.values(holdings.handles).reduce((sum, count) => sum + count, 0);
const grown = {
  heapBytes: after.heapBytes - before.heapBytes,
  handles: handles(after) - handles(before),
  listeners: after.listeners - before.listeners,
  sockets: after.sockets - before.sockets,
};

for (const [ending, count] of Object.entries(endings).sort()) console.log(`${String(count).padStart(9)} ${ending}`);
console.log(`calls                ${calls} in ${Math.round((performance.now() - startedAt) / 1000)} s`);
console.log(
  `heap                 ${megabytes(before.heapBytes)} → ${megabytes(after.heapBytes)} (bound: ${megabytes(bounds.heapBytes)} more)`,
);
console.log(
  `handles              ${JSON.stringify(before.handles)} → ${JSON.stringify(after.handles)} (bound: ${bounds.handles} more)`,
);
console.log(
  `abort listeners      ${before.listeners} → ${after.listeners}, at most ${mostListeners} during the calls (bound: no more than before)`,
);
console.log(
  `sockets              ${before.sockets} → ${after.sockets}, at most ${mostSockets} during the calls (bound: no more than before)`,
);
console.log(`warnings             ${warnings.length}, unhandled rejections ${unhandled} (bound: none)`);

const names = ['heapBytes', 'handles', 'listeners', 'sockets'] as const;
const over = names.filter((name) => grown[name] > bounds[name]);
if (over.length > 0 || warnings.length > 0 || unhandled > 0) {
  console.error(`The process keeps more than before the calls: ${[...over, ...warnings].join(', ')}`);
  process.exitCode = 1;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
