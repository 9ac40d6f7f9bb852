/**
 * The recipes, each in an empty folder of its own: the tarball and what the recipe needs are installed, and the block of
 * docs/recipes.md is pasted and does its work.
 */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Queue } from 'bullmq';
import type { JobRef } from 'hosted-client';
import type { MockService } from 'hosted-client/testing';
import ts from 'typescript';
import { redisProgram } from '../support/needed.ts';
import { isRedisRequired, startRedis } from '../support/redis.ts';
import { canRunPostgres, withPostgres } from './at-postgresql.ts';
import { takeBlock, takeFile } from './blocks.ts';
import { type Check, expectJust, printsJust } from './check.ts';
import { install, tested } from './consumer.ts';
import { makeProject, mustRun, root } from './project.ts';
import { whileServing } from './serve-program.ts';
import { accepted, completedJob, deliverThree, withService } from './service.ts';

type Variables = Readonly<Record<string, string>>;

/** A recipe for one file of a program. */
interface Recipe {
  readonly name: string;
  readonly files: Variables;
  readonly packages: readonly string[];
  /** Runs it in its folder, with the variables of a service; null when it did what it is for. */
  readonly look: (cwd: string, env: Variables, service: MockService) => Promise<string | null>;
}

const page = 'docs/recipes.md';

/** A block in a file of its own, and what its page says to install beside the client. */
function recipe(file: string, of = page): Pick<Recipe, 'files' | 'packages'> {
  const { code, installs } = takeBlock(of, file);
  return { files: { [file]: code }, packages: installs.filter((name) => name !== 'hosted-client') };
}

export function recipeChecks(tarball: string): readonly Check[] {
  return [
    ...recipesThatCanRun().map((recipe) => ({
      name: `The recipe for ${recipe.name}, from an empty folder`,
      look: () => followRecipe(recipe, tarball),
    })),
    ...(canRunPostgres
      ? [
          {
            name: 'docs/tracking.md, tables made by a command, and a role for the workers',
            look: () => makeTables(tarball),
          },
        ]
      : []),
  ];
}

/** Leaves out those whose database is not installed, and says so; not where it has to be there. */
function recipesThatCanRun(): readonly Recipe[] {
  const hasRedis = redisProgram !== null || isRedisRequired;
  if (!canRunPostgres)
    console.log(`skipped ${namesOf(onPostgres)}: no PostgreSQL is installed (apt-get install postgresql)`);
  if (!hasRedis) console.log(`skipped ${namesOf(onRedis)}: no Redis is installed (apt-get install redis-server)`);
  return [...withoutDatabase, ...(canRunPostgres ? onPostgres : []), ...(hasRedis ? onRedis : [])];
}

const namesOf = (recipes: readonly Recipe[]) => recipes.map(({ name }) => name).join(', ');

const withoutDatabase: readonly Recipe[] = [
  {
    name: 'Express',
    ...recipe('server.mjs', 'README.md'),
    packages: ['express'],
    look: (...given) => takeThree('Express', ...given),
  },
  {
    name: 'Fastify',
    ...recipe('receive-with-fastify.ts'),
    look: (...given) => takeThree('Fastify', ...given),
  },
  {
    name: 'Hono on Node',
    ...recipe('hono-on-node.ts'),
    look: (...given) => takeThree('Hono on Node', ...given),
  },
  {
    name: 'Nest',
    files: { 'receive-with-nest.js': transpile(takeFile(page, 'receive-with-nest.ts')) },
    packages: ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'],
    look: (...given) => takeThree('Nest', ...given),
  },
  {
    name: 'Lambda',
    ...recipe('receive-with-lambda.ts'),
    look: (...given) => takeThree('Lambda', ...given),
  },
];

const onPostgres: readonly Recipe[] = [
  {
    name: 'Express and PostgreSQL',
    ...recipe('express-and-postgres.ts'),
    look: writeResultsDown,
  },
  {
    name: 'a cron script',
    ...recipe('cron.ts'),
    look: runScriptTwice,
  },
];

const onRedis: readonly Recipe[] = [
  {
    name: 'BullMQ',
    ...recipe('bullmq.ts'),
    look: queueInRedis,
  },
];

async function followRecipe({ name, files, packages, look }: Recipe, tarball: string): Promise<string | null> {
  const cwd = await makeProject(`recipe-${name.toLowerCase().replaceAll(' ', '-')}`, {
    'package.json': JSON.stringify({ private: true, type: 'module' }),
    ...files,
  });
  await copyFile(join(root, 'test/dist/recipes/serve.js'), join(cwd, 'serve.js'));
  await install(cwd, [tarball, ...packages.map(tested)]);
  return withService((env, service) => look(cwd, { ...env, PORT: '0' }, service));
}

/** 1.5 MB, the same once more, and a forged callback. */
async function takeThree(name: string, cwd: string, env: Variables, service: MockService): Promise<string | null> {
  return whileServing(['serve.js', name], cwd, env, async (url, printed) => {
    const statuses = await deliverThree(service, url);
    const results = printed.filter((line) => / the job is succeeded$/.test(line)).length;
    return expectJust([accepted, 1], [statuses, results]);
  });
}

async function writeResultsDown(cwd: string, env: Variables, service: MockService): Promise<string | null> {
  return withPostgres(async ({ connectionString, pool }) => {
    const withDatabase = { ...env, DATABASE_URL: connectionString };
    const jobs = [completedJob(service, 'approved'), completedJob(service, 'rejected')];
    const statuses = await whileServing(['serve.js', 'Express and PostgreSQL'], cwd, withDatabase, async (url) => {
      const delivered: string[] = [];
      for (const job of jobs) delivered.push(await deliverThree(service, url, job));
      return delivered;
    });
    const { rows } = await pool.query(
      'select user_id as "userId", job_id as "jobId", state from results order by signed_at',
    );
    const [approved, rejected] = jobs;
    const expected = [
      { ...approved, state: 'succeeded' },
      { ...rejected, state: 'failed' },
    ];
    return expectJust([accepted, accepted, expected], [...statuses, rows]);
  });
}

type Row = Pick<JobRef, 'jobId'> & { readonly state: string };

async function runScriptTwice(cwd: string, env: Variables, service: MockService): Promise<string | null> {
  return withPostgres(async ({ connectionString, pool }) => {
    const pending = service.sandbox.jobs.start();
    const jobs = [completedJob(service, 'approved'), completedJob(service, 'rejected'), pending];
    await pool.query('create table jobs (user_id text, job_id text, state text, signed_at timestamptz)');
    for (const { userId, jobId } of jobs) {
      await pool.query("insert into jobs values ($1, $2, 'pending')", [userId, jobId]);
    }
    const statesAfterRun = async () => {
      const { output } = await mustRun(process.execPath, ['cron.ts'], {
        cwd,
        env: { ...env, DATABASE_URL: connectionString, WORK_MS: '15000' },
      });
      const { rows } = await pool.query('select job_id as "jobId", state from jobs');
      const states = jobs.map(({ jobId }) => (rows as Row[]).find((row) => row.jobId === jobId)?.state);
      return [output, ...states];
    };
    const first = await statesAfterRun();
    service.sandbox.jobs.complete(pending, 'approved');
    const second = await statesAfterRun();
    return expectJust(
      [
        ['', 'succeeded', 'failed', 'pending'],
        ['', 'succeeded', 'failed', 'succeeded'],
      ],
      [first, second],
    );
  });
}

async function queueInRedis(cwd: string, env: Variables, service: MockService): Promise<string | null> {
  const redis = await startRedis();
  const queue = new Queue<JobRef>('verifications', { connection: { url: redis.url } });
  try {
    const queued = async () => (await queue.getJobs()).map(({ data }) => data);
    return await queueOne('BullMQ', { cwd, env: { ...env, REDIS_URL: redis.url }, service, queued });
  } finally {
    await queue.close();
    await redis.close();
  }
}

interface QueueTrial {
  readonly cwd: string;
  readonly env: Variables;
  readonly service: MockService;
  /** What the queue has of each job. */
  readonly queued: () => Promise<readonly unknown[]>;
}

/** A callback of 1.5 MB becomes one job of the queue, with two ids in it, and a worker says what became of it. */
async function queueOne(name: string, { cwd, env, service, queued }: QueueTrial): Promise<string | null> {
  const { userId, jobId } = completedJob(service);
  return whileServing(['serve.js', name], cwd, env, async (url, printed) => {
    const statuses = await deliverThree(service, url, { userId, jobId });
    const saysResult = () => printed.filter((line) => line.startsWith('the job is '));
    for (let waited = 0; saysResult().length === 0 && waited < 300_000; waited += 50) await setTimeout(50);
    return expectJust(
      [accepted, [{ userId, jobId }], ['the job is succeeded']],
      [statuses, await queued(), saysResult()],
    );
  });
}

const rights = takeFile('docs/tracking.md', 'rights.sql');

/** A worker without the right to create anything. */
const worker = `import { HostedClient } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';

const tracker = await createTracker({
  client: HostedClient.fromEnv(),
  connectionString: process.env.DATABASE_URL,
  migrate: false,
});
await tracker.onCompletion(async ({ status }) => {
  console.log(status.state);
  setImmediate(() => tracker.stop());
});
await tracker.track({ userId: process.env.USER_ID, jobId: process.env.JOB_ID });
`;

async function makeTables(tarball: string): Promise<string | null> {
  const cwd = await makeProject('tables-by-command', { 'package.json': '{"private":true}', 'worker.mjs': worker });
  await install(cwd, [tarball, tested('pg')]);
  return withPostgres(async ({ connectionString, pool }) => {
    await mustRun('npx', ['hosted-client', 'tracking', 'migrate'], { cwd, env: { DATABASE_URL: connectionString } });
    await pool.query('create role app login');
    await pool.query(rights);
    return withService((env, service) => {
      const { userId, jobId } = completedJob(service);
      const url = new URL(connectionString);
      url.username = 'app';
      const ids = { USER_ID: userId, JOB_ID: jobId, DATABASE_URL: url.href };
      return printsJust('succeeded', process.execPath, ['worker.mjs'], { cwd, env: { ...env, ...ids } });
    });
  });
}

/** Decorators with their types, as Nest's own compiler does it. */
function transpile(source: string): string {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  return outputText;
}
