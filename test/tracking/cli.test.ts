/** The commands `tracking …`, on a folder always, and on a PostgreSQL where one is installed. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTracker, type TrackerOptions } from 'hosted-client/tracking';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { command, type Env, envOf } from '../cli/running.js';
import { newLink } from '../sandbox/running.js';
import { type Database, openDatabase } from './databases.js';
import { createWorld, until } from './world.js';

/** Two completions that were handed over in vain, a job that is pending, and nobody who works. */
async function leaveDeadLetters(place: Pick<TrackerOptions, 'folder' | 'connectionString'>, schema: string) {
  const { client, service } = createWorld({ pool: {} } as never);
  const options: TrackerOptions = { client, ...place, schema, minDelayMs: 40, maxRequestsPerSecond: 1_000 };
  const tracker = await createTracker({ ...options, maxAttempts: 1 });
  const jobs = [1, 2].map(() => service.jobs.start());
  const pending = service.jobs.start();
  for (const job of jobs) service.jobs.complete(job, 'approved');
  await tracker.track([...jobs.map((job) => ({ ...job, context: 'ours' })), pending]);
  const link = await client.links.create(newLink);
  await tracker.trackLink(link.refId);
  await tracker.onCompletion(() => {
    throw Object.assign(new TypeError('Erika Mustermann'), { code: 'E_BROKEN' });
  });
  await until(async () => (await tracker.stats()).dead === 2);
  const keys = (await tracker.deadLetters()).map(({ key }) => key);
  await tracker.stop();
  /** Handles what is handed over, and gives the keys. */
  const work = async (count: number) => {
    const handled: string[] = [];
    const worker = await createTracker(options);
    await worker.onCompletion(({ key }) => void handled.push(key));
    await until(async () => handled.length === count && (await worker.stats()).handingOver === 0);
    await worker.stop();
    return handled;
  };
  return { jobs, keys, work, env: envOf(service.clientOptions) };
}

const opening = 'PGlite opens the folder, which takes a few seconds …\n';

/** Looks at dead letters, and hands them over again, as an operator would. */
async function operate(
  { jobs, keys, work, env }: Awaited<ReturnType<typeof leaveDeadLetters>>,
  more: readonly string[],
  variables: Env = {},
) {
  const run = (...args: readonly string[]) =>
    command(['tracking', ...args, ...more], { env: { ...env, ...variables } });

  const notice = more.includes('--folder') ? opening : '';
  const counts = await run('stats', '--json');
  expect(counts).toMatchObject({ code: 0, stderr: notice });
  expect(JSON.parse(counts.stdout)).toMatchObject({ tracking: 1, links: 1, handingOver: 0, dead: 2, problem: null });
  const shown = await run('stats');
  expect(shown.stdout).toMatch(/^Tracking +1\nLinks +1$/m);
  expect(shown.stdout).toMatch(/^Dead letters +2$/m);

  const listed = await run('dead-letters');
  expect(listed.stdout).toMatch(/^KEY +USER_ID +JOB_ID +ATTEMPTS +FAILED +ERROR\n/);
  for (const { jobId } of jobs) expect(listed.stdout).toContain(` ${jobId}  1 `);
  expect(listed.stdout).toContain('TypeError (E_BROKEN)');
  expect(listed.stdout).not.toMatch(/ours|Mustermann/);
  const [first, ...none] = JSON.parse((await run('dead-letters', '--json', '--limit', '1')).stdout);
  expect(none).toEqual([]);
  expect(first).toMatchObject({ attempts: 1, context: 'ours', error: { name: 'TypeError', code: 'E_BROKEN' } });
  const [second] = JSON.parse((await run('dead-letters', '--json', '--after', first.key)).stdout);
  expect([first.key, second.key].sort()).toEqual([...keys].sort());

  expect(await run('retry', first.key)).toMatchObject({ code: 0, stdout: 'Handed over again: 1\n' });
  expect(await run('retry', first.key)).toMatchObject({ code: 1, stderr: `${notice}No dead letter has this key\n` });
  expect(await run('retry', '--all', '--json')).toMatchObject({ code: 0, stdout: '1\n' });
  expect(await run('retry', '--all')).toMatchObject({ code: 0, stdout: 'Handed over again: 0\n' });
  expect(await run('dead-letters')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `${notice}There are no dead letters\n`,
  });
  expect((await work(2)).sort()).toEqual([...keys].sort());
}

describe('in a folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tracked-'));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}.lock`, { force: true });
  });

  test('dead letters are listed and handed over again; a folder that is in use, or is none, is refused', async () => {
    const left = await leaveDeadLetters({ folder }, 'hosted_tracking');
    await operate(left, ['--folder', folder]);

    const other = await command(['tracking', 'stats', '--folder', folder, '--schema', 'other'], { env: left.env });
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(other.stderr).toContain(
      'The schema has no tracking tables, or its tables are of an older version: check --schema',
    );

    const { client } = createWorld({ pool: {} } as never);
    const tracker = await createTracker({ client, folder });
    onTestFinished(() => tracker.stop());
    const locked = await command(['tracking', 'stats', '--folder', folder], { env: left.env });
    expect(locked).toMatchObject({ code: 1, stdout: '' });
    expect(locked.stderr).toContain('another process, or another tracker of this process, uses the folder');
  }, 120_000);
});

const env = {
  HOSTED_PARTNER_ID: '085',
  HOSTED_API_KEY: 'a key',
  HOSTED_SANDBOX_BASE_URL: 'https://service.test',
  DATABASE_URL: 'postgresql://app:planted-password@127.0.0.1:1/planted-database',
};

const windows = `${env.DATABASE_URL}\r`;
const isAway = 'did not respond, or responded with an error (ECONNREFUSED)';
const neither = 'KEY is missing: write "hosted-client tracking retry KEY" or "hosted-client tracking retry --all"';
const noFlag = 'is not a flag of hosted-client tracking stats: keys and URLs are read only from environment variables';

test.each<[string, readonly string[], string, { readonly code?: number; readonly variables?: Env }?]>([
  ['no database', ['stats'], 'DATABASE_URL must be set, or give --folder', { variables: { DATABASE_URL: '' } }],
  ['no URL', ['stats'], 'DATABASE_URL must be a URL: postgresql:', { variables: { DATABASE_URL: 'planted-password' } }],
  ['a line end', ['stats'], 'DATABASE_URL must not contain a line end', { variables: { DATABASE_URL: windows } }],
  ['a database that is away', ['stats'], `the database ${isAway}`, { code: 4 }],
  ['no partner', ['stats'], '"HOSTED_PARTNER_ID" must be set', { variables: { HOSTED_PARTNER_ID: '' } }],
  ['no folder', ['stats', '--folder', tmpdir()], '--folder must be a folder that a tracker has created'],
  ['no schema', ['stats', '--schema', 'No; drop'], '--schema must be 1 to 40 lower-case letters'],
  ['no schema for its tables', ['migrate', '--schema', 'No; drop'], '--schema must be 1 to 40 lower-case letters'],
  ['a database for its tables that is away', ['migrate'], isAway, { code: 4 }],
  ['no key', ['retry'], neither],
  ['a key and --all', ['retry', 'x', '--all'], 'KEY and --all are given: give one of them'],
  ['an empty key', ['retry', ''], 'KEY must not be empty'],
  ['a limit of none', ['dead-letters', '--limit', '0'], '--limit must be an integer from 1 to 10000'],
  ['a URL as a flag', ['stats', '--database-url', 'x'], `Argument 3 ${noFlag}`],
])('tracking is given %s, which is named, and nothing of its variables', async (_, args, message, given) => {
  const result = await command(['tracking', ...args], { env: { ...env, ...given?.variables } });

  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: given?.code ?? 2, stdout: '' });
  expect(result.stderr).toContain(message);
  expect(result.stderr).not.toMatch(/planted|a key/);
});

describe('on PostgreSQL', { tags: ['postgresql'] }, () => {
  let database: Database & { readonly connectionString: string };
  beforeAll(async () => {
    database = await openDatabase();
  }, 60_000);
  afterAll(() => database.close());

  test('dead letters are listed and handed over again, by the database of DATABASE_URL', async () => {
    const left = await leaveDeadLetters({ connectionString: database.connectionString }, 'ours');
    const variables = { DATABASE_URL: database.connectionString };

    await operate(left, ['--schema', 'ours'], variables);

    const shape = (keys: string) =>
      command(['tracking', 'retry', keys, '--schema', 'ours'], { env: { ...left.env, ...variables } });
    expect(await shape('no key')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('KEY must be the key of a'),
    });
    const production = { ...left.env, ...variables, HOSTED_ENVIRONMENT: 'production' };
    const other = await command(['tracking', 'stats', '--schema', 'ours'], { env: production });
    expect(other).toMatchObject({ code: 2, stdout: '' });
    expect(other.stderr).toContain('--schema has the jobs of sandbox: the jobs of production need another schema');
  });

  test('stats shows a problem of all jobs, and when it began', async () => {
    const { connectionString } = database;
    const { client, service } = createWorld(database);
    await (await createTracker({ client, connectionString, schema: 'in_trouble' })).stop();
    await database.pool.query(
      "update in_trouble.fleet set problem_code = 'authentication', problem_since = '2026-01-02T03:04:05Z'",
    );

    const { code, stdout } = await command(['tracking', 'stats', '--schema', 'in_trouble'], {
      env: { ...envOf(service.clientOptions), DATABASE_URL: connectionString },
    });

    expect(code).toBe(0);
    expect(stdout).toMatch(/^Problem +authentication, since 2026-01-02T03:04:05\.000Z$/m);
    expect(stdout).toMatch(/^Overdue +0$/m);
  });

  test('tables are planned, printed and created, without the variables of a client', async () => {
    const migrate = (...args: readonly string[]) =>
      command(['tracking', 'migrate', '--schema', 'planned', ...args], {
        env: { DATABASE_URL: database.connectionString },
      });

    expect(await migrate('--check')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Tracking tables +none → version 1\nMigration +there is something to do$/m),
    });
    const printed = await migrate('--sql');
    expect(printed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^begin;\nset local lock_timeout = 2000;\n/),
    });
    await database.pool.query(printed.stdout.replaceAll('planned', 'by_hand'));
    expect(await migrate()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Migration +done$/m) });
    expect(await migrate('--check')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Migration +nothing to do$/m),
    });
    expect(JSON.parse((await migrate('--json')).stdout)).toMatchObject({
      from: 1,
      to: 1,
      sql: [],
    });
    const byHand = await command(['tracking', 'migrate', '--schema', 'by_hand', '--check'], {
      env: { DATABASE_URL: database.connectionString },
    });
    expect(byHand.code).toBe(0);
    await database.pool.query('update planned.fleet set version = 3');
    expect(await migrate()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('newer version of this package'),
    });
  });

  test('a schema that is not there is refused, and not made', async () => {
    const { code, stderr } = await command(['tracking', 'stats', '--schema', 'absent'], {
      env: { ...env, DATABASE_URL: database.connectionString },
    });

    expect(code).toBe(1);
    expect(stderr).toContain('The schema has no tracking tables');
    const { rows } = await database.pool.query("select 1 from pg_namespace where nspname like 'absent%'");
    expect(rows).toEqual([]);
  });
});
