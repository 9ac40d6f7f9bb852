// The settings of the model: what may happen in it, and which protections it lacks.

import type { Protection } from './needed.ts';

/** What may happen in one exploration. */
export interface Settings {
  readonly name: string;
  readonly maxAttempts: number;
  readonly unknownJobs: 'keep' | 'track';
  /** How many times `track()`, `untrack()` and `retry()` may be called. */
  readonly tracks: number;
  readonly untracks: number;
  readonly retries: number;
  /** The links that callbacks name: 0 for none, 3 for the job's own, 4 for another person's. */
  readonly callbacks: readonly number[];
  /** Whether the result names the job's link. A pending status names none. */
  readonly namesLink: boolean;
  /** What the service says first and last: 0 it does not know the job, 1 pending, from 2 on a result. */
  readonly results: readonly [first: number, last: number];
  readonly deadlines: boolean;
  /** How many outages the service may have, and whether it may respond with errors about this job alone. */
  readonly outages: number;
  readonly breaks: boolean;
  readonly forgets: boolean;
  /** Whether a poll is one step, or whether anything may happen between its statement and its response. */
  readonly slowPolls: boolean;
  /** How many processes poll. */
  readonly pollers: number;
  /** How many processes deliver, and how many completions each of them at the same time. */
  readonly deliverers: number;
  readonly deliveriesPerProcess: number;
  readonly crashes: boolean;
  /** Whether `stop()` may be called in a process. */
  readonly stops: boolean;
  /** Whether the outcome of a transaction may be unclear, or its result impossible to store. */
  readonly unclear: boolean;
  /** Whether handlers may take too long, and succeed then. */
  readonly overruns: boolean;
  /** Whether the service may respond with an earlier result, which it has signed then. */
  readonly repeats: boolean;
  readonly without: Protection | null;
}

const base: Settings = {
  name: '',
  maxAttempts: 1,
  unknownJobs: 'keep',
  tracks: 1,
  untracks: 0,
  retries: 0,
  callbacks: [],
  namesLink: false,
  results: [2, 2],
  deadlines: false,
  outages: 0,
  breaks: false,
  forgets: false,
  slowPolls: false,
  pollers: 1,
  deliverers: 2,
  deliveriesPerProcess: 1,
  crashes: false,
  stops: false,
  unclear: false,
  overruns: false,
  repeats: false,
  without: null,
};

const linked: Settings = {
  ...base,
  callbacks: [3, 4],
  namesLink: true,
  results: [1, 2],
  slowPolls: true,
  pollers: 2,
  deliverers: 1,
};

/** Each setting is explored to exhaustion. */
export const settings: readonly Settings[] = [
  {
    ...base,
    name: 'everything about deliveries',
    tracks: 2,
    untracks: 1,
    retries: 1,
    crashes: true,
    unclear: true,
  },
  { ...base, name: 'attempts', maxAttempts: 2 },
  { ...base, name: 'crashes', maxAttempts: 2, crashes: true },
  { ...base, name: 'unclear commits', maxAttempts: 2, unclear: true },
  { ...base, name: 'late successes', maxAttempts: 2, overruns: true },
  { ...base, name: 'two ends', tracks: 2, untracks: 1 },
  { ...base, name: 'two deliveries in one process', tracks: 2, untracks: 1, deliverers: 1, deliveriesPerProcess: 2 },
  { ...base, name: 'stops', stops: true },
  { ...base, name: 'retries', retries: 1 },
  { ...base, name: 'changing results', results: [2, 3], deliverers: 1 },
  {
    ...base,
    name: 'verdicts',
    maxAttempts: 2,
    results: [2, 4],
    callbacks: [0],
    repeats: true,
    slowPolls: true,
    deliverers: 1,
  },
  {
    ...base,
    name: 'deadlines',
    retries: 1,
    tracks: 2,
    untracks: 1,
    results: [1, 2],
    deadlines: true,
    slowPolls: true,
    pollers: 2,
    deliverers: 1,
  },
  { ...base, name: 'outages', results: [1, 2], deadlines: true, outages: 1, breaks: true, pollers: 2, deliverers: 1 },
  { ...linked, name: 'links' },
  { ...linked, name: 'links of unknown jobs', unknownJobs: 'track' },
  {
    ...base,
    name: 'unknown jobs',
    unknownJobs: 'track',
    callbacks: [0],
    results: [0, 2],
    deadlines: true,
    breaks: true,
    deliverers: 1,
  },
  { ...base, name: 'forgotten rows', tracks: 2, untracks: 1, retries: 1, forgets: true, deliverers: 1 },
];
