/** A PostgreSQL for one check, where one is installed or has to be. */

import { type Cluster, isRequired, programs, startCluster } from '../tracking/databases.ts';

export const canRunPostgres = programs !== null || isRequired;

export async function withPostgres<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
  const cluster = await startCluster();
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}
