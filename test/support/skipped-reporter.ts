// Says which tests were skipped and why: a line for each thing that this machine lacks.

import type { Reporter, TestModule } from 'vitest/node';
import { needed } from './needed.js';

export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        if (test.options.mode !== 'skip') continue;
        const need = needed.find(({ name, missing }) => missing !== null && test.tags.includes(name));
        const reason = need?.missing ?? `"${test.fullName}" is marked so`;
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    }
    for (const [reason, count] of counts) console.log(`Skipped ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`);
  }
}
