/** A run of tracking as data: who works where, what is fed, what goes wrong when, and what has to be true in the end. */

import type { TrackerOptions } from 'hosted-client/tracking';
import type { Version } from './builds.ts';
import type { StatementName } from './database.ts';
import type { PlaceName } from './places.ts';
import type { Fault } from './service.ts';
import type { HandlerPlan } from './worker.ts';

/** When something happens: so many ms after the workers began, or once so many jobs were handed over. */
type When = { readonly atMs: number } | { readonly afterHanded: number };

/** What goes wrong. */
export type Trouble =
  /** Kills one of the workers with SIGKILL, again and again. The fixed ones live on. */
  | { readonly is: 'kills'; readonly everyMs: number; readonly times: number; readonly fixed?: number }
  /** Kills one, which may not be replaced. */
  | { readonly is: 'kill'; readonly worker: number; readonly when: When; readonly forGood?: boolean }
  /** Restarts the database at once. */
  | { readonly is: 'restart'; readonly when: When }
  /** The service breaks all responses. */
  | { readonly is: 'outage'; readonly fault: Fault; readonly when: When; readonly forMs: number }
  /** A worker breaks at its next statement of this name: its machine vanishes there, or its network falls silent. */
  | { readonly is: 'vanish' | 'silence'; readonly worker: number; readonly at: StatementName; readonly when: When }
  /** The connection of a worker is cut, or the worker killed, at each statement in turn: before it, after it, within it. */
  | { readonly is: 'cuts'; readonly everyMs: number; readonly times: number }
  /** The clock of the database jumps. */
  | { readonly is: 'clock'; readonly byMs: number; readonly when: When }
  /** Someone holds a transaction open, until so many requests were sent; blocks a statement are compared. */
  | { readonly is: 'transaction'; readonly when: When; readonly requests: number }
  /** Callbacks with captured signed times name invented jobs. */
  | { readonly is: 'flood'; readonly times: number; readonly jobs: number; readonly wholeSeconds?: boolean }
  /** The tables change, or workers are replaced by those of another version. */
  | { readonly is: 'migrate'; readonly when: When }
  | { readonly is: 'deploy'; readonly version: Version; readonly workers: readonly number[]; readonly when: When };

export interface Feed {
  /** How long it takes to begin all jobs. */
  readonly overMs: number;
  /** How long jobs are pending: the mean of an exponential distribution, and the most. 0: they have ended before. */
  readonly pendingMs?: readonly [mean: number, most: number];
  /** The share of jobs with a callback, and of these the share that is delivered twice, or before `track()`. */
  readonly callbacks?: number;
  readonly doubled?: number;
  readonly early?: number;
  /** Jobs are known from callbacks alone: from those of a tracked link. */
  readonly linked?: boolean;
  /** The deadline of the first and of the last job, after the workers began. */
  readonly deadlinesMs?: readonly [first: number, last: number];
  /** The handlers of the first so many jobs fail for ever. After some time, so many are fed that never end, and the rest. */
  readonly failing?: number;
  readonly endless?: number;
  readonly restAfterMs?: number;
  /** The size of each context, in bytes. */
  readonly contextBytes?: number;
}

/** What has to be true in the end, beside what always has: no job lost, its own context, one key, no deadlock. */
export interface Promises {
  /** How many deliveries may be repeats. Default: one a kill or cut. */
  readonly repeats?: number;
  /** How long the last first delivery may come after the last trouble, and after all was fed. */
  readonly lastMs?: number;
  /** How long a delivery may come after the end of its job, and after a poll found the end. */
  readonly lateMs?: number;
  readonly foundMs?: number;
  /** The least polls a second of endless jobs while handlers fail. */
  readonly polls?: number;
  /** The longest wait of a statement for a lock. */
  readonly lockMs?: number;
  /** How many times the blocks of a call of the heaviest statement may be those of before the open transaction. */
  readonly blocks?: number;
  /** In comparison with the second tenth of the run. */
  readonly growth?: { readonly statements: number; readonly tables: number; readonly heap: number };
}

export interface Scenario {
  /** What makes it differ from the others of its name. */
  readonly name?: string;
  /** It mostly waits: those of its name run side by side. */
  readonly waits?: boolean;
  readonly place?: PlaceName;
  readonly jobs: number;
  /** How many processes work. With 0, so many trackers of this process do. */
  readonly workers: number;
  readonly trackers?: number;
  /** The tracker of this process gets each status at once: the database is measured, and not the service. */
  readonly instant?: boolean;
  /** Workers that reach the database through a proxy of their own. */
  readonly proxied?: readonly number[];
  /** The numbers of the jobs that a worker tracks itself before it works. */
  readonly tracks?: Readonly<Record<number, readonly [number, number]>>;
  /** The workers receive callbacks with a replay guard, with this lease and these errors of their clocks. */
  readonly guard?: { readonly leaseMs: number; readonly skewsMs: readonly number[] };
  /** The versions that workers have, in place of the package as it is. */
  readonly versions?: readonly Version[];
  /** How many times faster the package's own waits pass in these versions. */
  readonly haste?: number;
  readonly options?: Partial<TrackerOptions>;
  readonly feed: Feed;
  readonly handler?: HandlerPlan;
  /** The share of responses that are broken, and how long each takes. */
  readonly service?: { readonly failing?: number; readonly delayMs?: number };
  readonly settings?: readonly string[];
  readonly troubles?: readonly Trouble[];
  readonly promises?: Promises;
  /** What differs in the long run. */
  readonly full?: Partial<Scenario>;
}
