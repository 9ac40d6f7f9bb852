/** The jobs of a run: their ids name their number, and their number says how they end. */

export const idsOf = (n: number) => ({ userId: `user-${n}`, jobId: `job-${n}` });

/** The number of a job; NaN of one that is none of the run. */
export const numberOf = (jobId: string): number => (jobId.startsWith('job-') ? Number(jobId.slice(4)) : Number.NaN);

/** The state in which it ends. */
export const stateOf = (n: number) => (n % 5 > 0 ? 'succeeded' : 'failed');
