/**
 * Runs the tests of thousands of mutants in one thread each core. A thread of its own for each test file costs a second,
 * most of it for packages that no mutant changes. A test file still gets the source anew, as in a thread of its own.
 */

import type { Plugin } from 'vitest/config';
import { BaseSequencer, type PoolOptions, type PoolWorker, type TestProject, ThreadsPoolWorker } from 'vitest/node';

/** With so many files, a thread has become slower by the listeners that each of them leaves behind. */
const mostFiles = 50;
/** The time limit of a test, in ms: a mutant that waits for ever is noticed at once, because no test waits so long. */
const testMs = 5_000;
/** A thread that says nothing for so long, in ms, is in an endless loop. No time limit in the thread can end that. */
const longestSilenceMs = testMs + 2_000;

let thread: ThreadsPoolWorker | null = null;
let files = 0;
/** The files that failed, with the number of the failure: the next mutant is mostly noticed by the same file. */
const failures = new Map<string, number>();
/** How long each file took. */
const durations = new Map<string, number>();
let failureCount = 0;

const isMutant = (project: TestProject) => Reflect.get(project.getProvidedContext(), 'mode') === 'mutant';

/** Remembers how the file went, and says whether the thread is as it was before. */
function isClean(project: TestProject): boolean {
  let clean = true;
  for (const { filepath, result } of project.vitest.state.getFiles()) {
    if (result?.duration !== undefined && !isMutant(project)) durations.set(filepath, result.duration);
    if (result?.state === 'fail') failures.set(filepath, ++failureCount);
    if (result?.state === 'fail' && (result.duration ?? 0) > project.config.testTimeout) clean = false;
  }
  return clean && project.vitest.state.errorsSet.size === 0;
}

function createKeptThread(options: PoolOptions): PoolWorker {
  const { project } = options;
  const isKept = isMutant(project);
  if (isKept) project.config.testTimeout = project.config.hookTimeout = testMs;
  const own = (isKept && thread) || new ThreadsPoolWorker(options);
  const isNew = own !== thread;
  thread = isKept ? own : null;
  files = isNew ? 1 : files + 1;
  const listeners: [event: string, listener: (...args: unknown[]) => void][] = [];
  let isAsked = false;
  const leave = () => {
    if (thread === own) thread = null;
  };
  // Stryker counts a mutant with so many hits as a timeout. vitest ends a thread that has an error.
  const endLoop = () => {
    for (const { meta } of project.vitest.state.getFiles()) Reflect.set(meta, 'hitCount', Number.POSITIVE_INFINITY);
    void project.vitest.cancelCurrentRun('test-failure');
    for (const [event, listener] of listeners) if (event === 'error') listener(new Error('an endless loop'));
  };
  let silence: NodeJS.Timeout | undefined;
  const hear = () => silence?.refresh();
  return {
    name: 'kept',
    deserialize: (data) => data,
    async start() {
      if (!isNew) return;
      await own.start();
      // A mutant can use all the memory.
      own.on('exit', leave);
    },
    on(event, listener) {
      listeners.push([event, listener]);
      own.on(event, listener);
    },
    off(event, listener) {
      own.off(event, listener);
    },
    send(message) {
      if (message.type === 'run' && isKept) {
        silence = setTimeout(endLoop, longestSilenceMs);
        own.on('message', hear);
      }
      if (message.type !== 'stop') return own.send(message);
      isAsked = true;
      clearTimeout(silence);
      // The next file begins before the end of this one is complete.
      if (files >= mostFiles || !isClean(project)) leave();
      const stopped = { type: 'stopped', __vitest_worker_response__: true };
      for (const [event, listener] of listeners) if (event === 'message') listener(stopped);
    },
    async stop() {
      clearTimeout(silence);
      own.off('message', hear);
      for (const [event, listener] of listeners) own.off(event, listener);
      // A thread that was not asked to stop has failed.
      if (!isAsked) leave();
      if (thread !== own) await own.stop();
    },
  };
}

/** First the file that noticed the last mutant, then the fast ones. */
class KillersFirst extends BaseSequencer {
  override async sort(specifications: Parameters<BaseSequencer['sort']>[0]) {
    const order = ({ moduleId }: { readonly moduleId: string }) => failures.get(moduleId) ?? 0;
    const duration = ({ moduleId }: { readonly moduleId: string }) => durations.get(moduleId) ?? 0;
    return [...specifications].sort((a, b) => order(b) - order(a) || duration(a) - duration(b));
  }
}

export const sequencer = KillersFirst;

/** With more names of tests than this, comparing each test with the names costs more than running whole files. */
const mostNames = 30_000;

/** Stryker names a pool of vitest's own, so ours takes its place afterwards. */
export const keptThread: Plugin = {
  name: 'kept-thread',
  configureVitest({ project, vitest }) {
    project.config.pool = 'kept' as typeof project.config.pool;
    project.config.poolRunner = { name: 'kept', createPoolWorker: createKeptThread };
    // Stryker gives a file once for each of its tests, and all their names as one pattern.
    const { start } = vitest;
    vitest.start = (files) => {
      if ((project.config.testNamePattern?.source.length ?? 0) > mostNames) delete project.config.testNamePattern;
      return start.call(vitest, files && [...new Set(files)]);
    };
  },
};
