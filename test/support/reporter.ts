/**
 * What a run of tests prints: at first, how many files there are and about how long they take; meanwhile, how many have
 * run; at last, which tests were skipped and why, a line for each thing that this machine lacks. Else, only failures.
 */

import { MinimalReporter, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { needed } from './needed.js';

/** How long the files of a project take on two cores, in minutes. */
const minutes: Readonly<Record<string, number>> = { core: 0.5, kit: 0.5, tracking: 5, load: 5 };

/** How many files run between two lines of progress. */
const step = 50;

export default class Reporter extends MinimalReporter {
  #files = 0;
  #done = 0;

  override onInit(vitest: Vitest): void {
    // Without the banner of vitest, which would come before the first line.
    this.ctx = vitest;
    this.silent ??= vitest.config.silent;
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    const names = new Set(specifications.map(({ project }) => project.name));
    const duration = [...names].reduce((sum, name) => sum + (minutes[name] ?? 0), 0);
    this.log(this.#files > step ? `${this.#files} files of tests, about ${duration} min on two cores` : '');
    super.onTestRunStart(specifications);
  }

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    this.#done += 1;
    if (this.#done % step === 0 && this.#done < this.#files) this.log(`${this.#done} of ${this.#files} files have run`);
  }

  override onTestRunEnd(...given: Parameters<MinimalReporter['onTestRunEnd']>): void {
    const [modules] = given;
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        if (test.options.mode !== 'skip') continue;
        const need = needed.find(({ name, missing }) => missing !== null && test.tags.includes(name));
        const reason = need?.missing ?? `"${test.fullName}" is marked so`;
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    }
    super.onTestRunEnd(...given);
    for (const [reason, count] of counts) console.log(`Skipped ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`);
  }
}
