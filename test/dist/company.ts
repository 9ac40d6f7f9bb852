/** The packed package in an application that has the peers of tracking, and a queue of its own on the same database. */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canRunPostgres, withPostgres } from './at-postgresql.ts';
import { type Check, expectJust, printsJust } from './check.ts';
import { install, tested } from './consumer.ts';
import { makeProject, mustRun, root } from './project.ts';
import { completedJob, withService } from './service.ts';

const files = ['package.json', 'package-lock.json', 'send-letters.mjs'];

/** Installs the application and the tarball; gives the folder. */
export async function makeCompany(tarball: string): Promise<string> {
  const cwd = await makeProject('company');
  for (const file of files) await copyFile(join(root, 'test/dist/company', file), join(cwd, file));
  await mustRun('npm', ['ci', '--loglevel=error'], { cwd });
  await install(cwd, [tarball, ...['@opentelemetry/api', 'msw'].map(tested)]);
  return cwd;
}

export function companyChecks(cwd: string): readonly Check[] {
  if (!canRunPostgres) return [];
  return [
    {
      name: 'An application with pg-boss 10 of its own: both work, and neither meets the other',
      look: () => sendLetters(cwd),
    },
  ];
}

function sendLetters(cwd: string): Promise<string | null> {
  return withPostgres(async ({ connectionString, pool }) => {
    const problem = await withService((env, service) => {
      const { userId, jobId } = completedJob(service);
      const ids = { USER_ID: userId, JOB_ID: jobId, DATABASE_URL: connectionString };
      return printsJust('succeeded', process.execPath, ['send-letters.mjs'], { cwd, env: { ...env, ...ids } });
    });
    if (problem !== null) return problem;
    const { rows: queues } = await pool.query("select name from pgboss.queue where name not like '\\_\\_%'");
    const { rows: tables } = await pool.query(
      "select distinct table_schema as schema from information_schema.tables where table_name in ('fleet', 'tracked')",
    );
    return expectJust([[{ name: 'letters' }], [{ schema: 'hosted_tracking' }]], [queues, tables]);
  });
}
