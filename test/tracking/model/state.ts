// The state of the modelled tracker: the row of one job, two processes, and the service.

export const rowStates = ['absent', 'heard', 'tracking', 'handingOver', 'done', 'dead', 'untracked'] as const;
export type RowState = (typeof rowStates)[number];

/** The row of the job. */
export interface Row {
  state: RowState;
  /** The id of the end that is handed over; 0 for none. */
  end: number;
  /** The delivery that has the completion; 0 for none. */
  lease: number;
  /** Whether the lease is over: another delivery may take the completion. */
  isOver: boolean;
  attempts: number;
  /** How many ends have been handed over, or begun. */
  revision: number;
  /** The version of the result that was handed over last; 0 for none. */
  version: number;
  /** When the newest status that was handed over was signed, and the newest callback; 0 for never. */
  signed: number;
  mentioned: number;
  /** The state before a further end whose handler has not begun. */
  stateBefore: RowState | null;
  hasExpired: boolean;
  /** The context: 0 for none, 1 and 2 of the first and the second call of `track()`, 3 and 4 of the links. */
  context: number;
  /** The link that the row names: 0 for none, 3 the job's own link, 4 another person's link. */
  link: number;
  isProven: boolean;
  /** Whether `mentioned_at` is set: a callback mentioned the job before `track()`. */
  isMentioned: boolean;
  /** Whether the row has a date for the next poll. */
  hasDate: boolean;
  /** How many polls have failed after the deadline, up to two. */
  latePolls: number;
  /** The error of the last poll. */
  lastError: Failure;
}

/**
 * How far a delivery is. From `done` on, a transaction stores the result. Only a handler whose time is over goes on then:
 * it is `late`.
 */
export const phases = [
  'asking',
  'ready',
  'beginning',
  'begun',
  'running',
  'done',
  'failed',
  'again',
  'known',
  'returned',
  'unbegun',
  'timed out',
  'late',
] as const;
export type Phase = (typeof phases)[number];

/** A delivery in a process. */
export interface Delivery {
  readonly id: number;
  /** The end that it hands over. */
  readonly end: number;
  /** Which end it truly is about, as `Truth.end` counts. */
  readonly of: number;
  phase: Phase;
  /** The number of this attempt. */
  attempt: number;
  context: number;
  /** The version of the result that it hands over; 0 for none. */
  result: number;
  /** When this was signed. */
  signed: number;
  /** The revision of its end, once its handler may begin. */
  revision: number;
  /** The version that the service had when the message was fetched. */
  since: number;
  /** What was stored before it was stored that the handler begins. Null until then, and once it has begun. */
  before: (Pick<Row, 'attempts' | 'revision' | 'version' | 'signed' | 'stateBefore' | 'hasExpired'> & Begun) | null;
}

/** How many handlers have begun, and how many of these were stored but did not begin. */
type Begun = Pick<Truth, 'begun' | 'lapsed'>;

/** What a poll has found. */
export const findings = ['asked', 'completed', 'expired', 'unknown', 'pending', 'failed', 'changed', 'kept'] as const;

/** The errors of polls: none, one about the job itself, or one that can be about all jobs. */
export const failures = ['none', 'own', 'fleet'] as const;
export type Failure = (typeof failures)[number];

/** A poll in a process. */
export interface Poll {
  found: (typeof findings)[number];
  readonly isLate: boolean;
  readonly latePolls: number;
  readonly lastError: Failure;
  readonly isProven: boolean;
  readonly isLinkProven: boolean;
  readonly link: number;
  /** Whether the right link of the job was compared. */
  isCompared: boolean;
  /** The error of this poll. */
  error: Failure;
  /** Whether an outage was its cause. */
  isOfAll: boolean;
  /** Whether the job had ended, and with which revision. */
  readonly hasEnded: boolean;
  readonly revision: number;
  /** Whether the version is the one that was handed over, and when it was signed. */
  isSame: boolean;
  signed: number;
}

/** A process. */
export interface Process {
  poll: Poll | null;
  deliveries: Delivery[];
  /** Whether `stop()` was called, and whether it has resolved. */
  isStopping: boolean;
  isClosed: boolean;
}

/** What the tracker cannot know, and the promises are about. */
export interface Truth {
  /** Counts the ends of the job, whatever the row says. */
  end: number;
  /** The last end before the last call of `track()` or `retry()`. */
  base: number;
  /** How many handlers have begun since that call. */
  begun: number;
  /** How many handlers of these were stored, and did not begin because the lease of their message ended. */
  lapsed: number;
  /** Whether a handler of the current end has resolved. */
  isHandled: boolean;
  /** The context that the current completion must have. */
  context: number;
  /** How many ends came from the polls since the last `track()`, without those that were followed again. */
  ended: number;
  /** The key of the newest revision, and this revision; 0 before. */
  key: number;
  keyRevision: number;
  /** The newest version that a handler has received. */
  newest: number;
  /** What the service said when the newest callback came. */
  mentioned: number;
}

/** What surrounds the tracker. */
export interface World {
  /** What the service says about the job: 0 it does not know it, 1 pending, 2 and more are versions of its result. */
  result: number;
  isDown: boolean;
  /** How many outages may still begin. */
  outages: number;
  /** Whether the status of this job alone cannot be had. */
  isBroken: boolean;
  isLate: boolean;
  /** How many calls of `track()` and `untrack()` are left. */
  tracks: number;
  untracks: number;
  retries: number;
  /** Whether the link of the job is tracked. */
  isLinkTracked: boolean;
}

export interface State {
  row: Row;
  processes: [Process, Process];
  truth: Truth;
  world: World;
  nextId: number;
  /** How many times the service has signed. */
  signatures: number;
}

/** Copies a state: actions change the copy. */
export function copyState({ row, processes, truth, world, nextId, signatures }: State): State {
  return {
    row: { ...row },
    processes: [copyProcess(processes[0]), copyProcess(processes[1])],
    truth: { ...truth },
    world: { ...world },
    nextId,
    signatures,
  };
}

function copyProcess({ poll, deliveries, isStopping, isClosed }: Process): Process {
  return {
    isStopping,
    isClosed,
    poll: poll && { ...poll },
    deliveries: deliveries.map((delivery) => ({ ...delivery })),
  };
}
