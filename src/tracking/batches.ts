/**
 * Collects items while a write is running, so that the next write can store all of them. A batch is written even if it
 * is not full, so no item waits for further items. If the database is busy, one statement stores more items, so there
 * are fewer statements.
 *
 * @module
 */

const maxItems = 500;

/** Creates batches, which are written one at a time. `write` writes one batch. */
export function createBatches<T, R>(write: (items: readonly T[]) => Promise<R>) {
  const waiting: {
    readonly item: T;
    readonly resolve: (result: R) => void;
    readonly reject: (reason: unknown) => void;
  }[] = [];
  let isWriting = false;

  async function writeAll(): Promise<void> {
    isWriting = true;
    // Items that are added in the same turn of the event loop belong to one batch.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems);
      try {
        const result = await write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve(result);
      } catch (error) {
        // One item can make its batch fail, for example a row that is locked. So each item is tried alone.
        for (const { item, resolve, reject } of batch) {
          if (batch.length === 1) reject(error);
          else write([item]).then(resolve, reject);
        }
      }
    }
    isWriting = false;
  }

  return {
    /** Resolves with the result of its batch when the item is written. Rejects if the write of its batch fails. */
    add: (item: T): Promise<R> =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!isWriting) void writeAll();
      }),
  };
}

/** The parameters of a statement: its rows, and their keys in order, so that no two statements wait for each other. */
export function listOf(rows: readonly { readonly key: string }[]): readonly [rows: string, keys: string] {
  return [JSON.stringify(rows), JSON.stringify(rows.map(({ key }) => key).sort())];
}
