/** A gate that holds requests until it is opened. */

export interface Gate {
  /** Resolves when the request may pass. */
  pass(): Promise<void>;
  /** Lets `count` requests pass; requests that are already held come first. */
  open(count?: number): void;
  close(): void;
  /** Returns the number of held requests. */
  held(): number;
}

/** Creates an open gate. */
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
