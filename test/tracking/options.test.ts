import { HostedClient, HostedConfigError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker, type TrackerOptions } from 'hosted-client/tracking';
import pg from 'pg';
import { expect, test } from 'vitest';
import { readOptions } from '../../src/tracking/options.ts';

const client = new HostedClient(createMockService().sandbox.clientOptions);
const pool = {
  query: () => Promise.reject(new Error('nothing may be asked')),
  connect: () => Promise.reject(new Error('nothing may be asked')),
};

async function errorOf(options: unknown): Promise<HostedConfigError> {
  const error = await createTracker(options as TrackerOptions).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(HostedConfigError);
  return error as HostedConfigError;
}

const pathsOf = ({ issues }: HostedConfigError) => issues.map(({ path }) => path);

test('createTracker() names every invalid option in one error, before it opens anything', async () => {
  const options = {
    client: {},
    pool,
    folder: 'memory://',
    schema: 'no identifier; drop table',
    migrate: 'yes',
    maxRequestsPerSecond: 0,
    concurrency: 0,
    minDelayMs: -1,
    maxDelayMs: Number.NaN,
    backoffFactor: 0.5,
    deadlineMs: 0,
    unknownJobs: 'maybe',
    handlerTimeoutMs: 2 ** 40,
    maxAttempts: 0,
    logger: {},
    onEvent: 1,
  };

  const paths = pathsOf(await errorOf(options));

  expect([...new Set(paths)].sort()).toEqual(Object.keys(options).sort());
});

test('options that are left out have the defaults that are documented', () => {
  const dayMs = 86_400_000;
  expect(readOptions({ client, pool })).toMatchObject({
    schema: 'hosted_tracking',
    migrate: true,
    concurrency: 10,
    ...{ minDelayMs: 5_000, maxDelayMs: 900_000, backoffFactor: 1.5, deadlineMs: 7 * dayMs },
    unknownJobs: 'keep',
    ...{ handlerTimeoutMs: 60_000, handlerConcurrency: 10, maxAttempts: 20, minRetryMs: 1_000, maxRetryMs: 900_000 },
    retentionMs: 30 * dayMs,
  });
});

test.each([
  ['none of the three places', {}, ['connectionString']],
  ['a pool of one connection', { pool: new pg.Pool({ max: 1 }) }, ['pool']],
  ['a pool whose size was read from the environment', { pool: new pg.Pool({ max: '1' as never }) }, ['pool']],
  ['two of them', { pool, folder: 'memory://' }, ['pool', 'folder']],
  ['a schema in capitals', { pool, schema: 'Tracking' }, ['schema']],
  ['a schema of the system', { pool, schema: 'pg_tracking' }, ['schema']],
  ['a connection string of pairs', { connectionString: 'host=127.0.0.1 dbname=app' }, ['connectionString']],
  ['one in quotes', { connectionString: '"postgresql://127.0.0.1/app"' }, ['connectionString']],
  ['one of Java', { connectionString: 'jdbc:postgresql://127.0.0.1/app' }, ['connectionString']],
  ['one of another protocol', { connectionString: 'http://127.0.0.1:1/x' }, ['connectionString']],
  ['a blank folder', { folder: ' ' }, ['folder']],
  ['a folder as a URL', { folder: 'file:///var/tracking' }, ['folder']],
  ['a folder that is no string', { folder: Symbol('folder') }, ['folder']],
  ['an unknown option', { pool, maxRequestPerSecond: 5 }, ['maxRequestPerSecond']],
  ['a shortest wait above the longest', { pool, minDelayMs: 10, maxDelayMs: 5 }, ['minDelayMs']],
])('createTracker() refuses %s', async (_, options, paths) => {
  expect(pathsOf(await errorOf({ client, ...options }))).toEqual(paths);
});

test.each([
  [{ connectionString: 'host=127.0.0.1 dbname=app' }, /: "connectionString" must be a URL, such as "postgresql:/],
  [{}, /: "connectionString" must be given if neither "pool" nor "folder" is given$/],
  [
    { pool, folder: 'memory://' },
    /"folder" must be given alone: only one of "connectionString", "pool" and "folder" is allowed$/,
  ],
])('a tracker without a place, or with a wrong one or two, says what is right', async (places, says) => {
  expect((await errorOf({ client, ...places })).message).toMatch(says);
});

test.each([
  ['beside a folder', { connectionString: 'postgresql://someone:secret@db.internal/app', folder: 'memory://' }],
  ['in quotes', { connectionString: '"postgresql://someone:secret@db.internal/app"' }],
  ['that the driver cannot read', { connectionString: 'postgresql://secret:%zz' }],
])('createTracker() shows nothing of a connection string %s', async (_, place) => {
  const error = await createTracker({ client, ...place } as TrackerOptions).catch((thrown) => thrown);

  expect(error.name).toMatch(/^Hosted(?:Config|Storage)Error$/);
  expect(`${error} ${JSON.stringify(error)}`).not.toMatch(/secret|internal|%zz/);
});
