/** Lets requests pass, or holds them. */

export interface Gate {
  /** Resolves when the request may pass. */
  pass(): Promise<void>;
  /** Lets so many pass, those that are held first. */
  open(count?: number): void;
  close(): void;
  /** How many are held. */
  held(): number;
}

/** A gate that is open. */
export function createGate(): Gate {
  let permits = Number.POSITIVE_INFINITY;
  let held: (() => void)[] = [];
  return {
    async pass() {
      if (permits <= 0) {
        await new Promise<void>((resolve) => {
          held.push(resolve);
        });
        return;
      }
      permits -= 1;
    },
    open(count = Number.POSITIVE_INFINITY) {
      const passing = held.slice(0, count);
      held = held.slice(count);
      permits = count - passing.length;
      for (const pass of passing) pass();
    },
    close() {
      permits = 0;
    },
    held: () => held.length,
  };
}
