// The log lines about deliveries that were rejected or failed, and callers' loggers and `onError` that fail.

import { expect, test } from 'vitest';
import { createDeliveryReports, createFailure } from '../../src/callbacks/reports.js';
import { HostedConnectionError } from '../../src/errors/client-errors.js';
import { createPlatformClock } from '../../src/runtime/clock.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { away, broken, forever, type Setup, startHandler } from './deliveries.js';

failOnStrayRejections();

function start() {
  const lines: string[] = [];
  const telemetry = {
    report: () => undefined,
    warn: (line: string) => void lines.push(line),
    calls: 0,
  };
  return { lines, reports: createDeliveryReports(telemetry, { ...createPlatformClock(), elapsed: () => 0 }) };
}

const personal = new Error('personal data');

const usualFrames = [
  'at query (/srv/app/node_modules/pg/lib/client.js:52:13)',
  'at process.processTicksAndRejections (node:internal/process/task_queues:104:5)',
  'at async onEvent (file:///srv/app/server.mjs:18:32)',
];

/** An error that was thrown at these frames. */
function at<E extends Error>(error: E, frames: readonly string[] = usualFrames): E {
  const stack = [`${error.name}: ${error.message}`, ...frames.map((frame) => `    ${frame}`)].join('\n');
  return Object.assign(error, { stack });
}

/** An error whose name is another one when it is read again. */
function nameChanges(error: Error): Error {
  const names = ['Error', 'Mary'];
  return Object.defineProperty(error, 'name', { get: () => names.shift() ?? 'Mary' });
}

const connection = new HostedConnectionError('the connection broke', { operation: 'jobs.status' });

test.each([
  ['read', personal, 'its body could not be read'],
  ['verify', personal, 'it could not be verified'],
  ['guard', personal, 'the replay guard failed'],
  ['confirm', personal, 'it could not be confirmed'],
  ['confirm', connection, connection.message],
  // An error of the package may come from a call that onEvent made: its message is the caller's.
  ['handle', at(connection), 'onEvent rejected with HostedConnectionError at server.mjs:18:32'],
  ['handle', at(new TypeError('personal\n    at mary.js:1:1')), 'onEvent rejected with TypeError at server.mjs:18:32'],
  ['handle', at(new Error('personal'), []), 'onEvent rejected with Error'],
  [
    'handle',
    Object.assign(at(new Error('personal')), { name: 'Mary Jane' }),
    'onEvent rejected with an error at server.mjs:18:32',
  ],
  // A message that was emptied or cut after the stack was written.
  ['handle', Object.assign(at(new Error('of jane@mail.test:19:80')), { message: '' }), 'onEvent rejected with Error'],
  ['handle', Object.assign(at(new Error('of\n at jane.js:19:80')), { message: 'of' }), 'onEvent rejected with Error'],
  // What follows the frames is none.
  [
    'handle',
    at(new Error('personal'), [...usualFrames.slice(0, 2), 'Caused by: jane@mail.test:19:80']),
    'onEvent rejected with Error',
  ],
  ['handle', nameChanges(at(new Error('personal'))), 'onEvent rejected with Error at server.mjs:18:32'],
  ['handle', 'personal', 'onEvent rejected with a value that is no error'],
] as const)(
  'the log line of a delivery that failed in phase %s shows the reason, if it may be shown',
  (phase, error, why) => {
    const { lines, reports } = start();

    reports.report(createFailure(phase, 503, 'code', error), 0, undefined);

    expect(lines).toEqual([`a callback failed with status 503 (code) and has to be redelivered: ${why}`]);
  },
);

test.each([
  ['of the package', connection, `; the latest: ${connection.message}`],
  ['of any other kind', personal, ''],
])('the log line about rejected deliveries shows the latest error if it is %s', (_what, error, latest) => {
  const { lines, reports } = start();

  reports.report(createFailure('read', 400, 'code', error), 0, undefined);

  expect(lines).toEqual([`1 delivery of a callback was rejected (1 with 400)${latest}`]);
});

const rejected = { body: '{}' };
const malformed = { body: 'no JSON' };
/** A handler without `onError`, which would be told of rejections in place of the log. */
const startUnheard = (setup: Setup = {}) => startHandler({ ...setup, handler: { onError: undefined as never } });

test('each failed delivery has a log line, and the rejected ones are counted in one line a minute', async () => {
  const { deliver, clock, lines } = startUnheard({ onEvent: away });

  for (let count = 0; count < 50; count++) await deliver(rejected);
  for (const job of ['job-1', 'job-2', 'job-3']) await deliver({ job });
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(/^hosted-client: 1 deliver.*1 with 401/);
  expect(lines.slice(1).every((line) => line.includes('500'))).toBe(true);
  await clock.advance(59_999);
  await deliver(malformed);
  expect(lines).toHaveLength(4);
  await clock.advance(1);
  await deliver(malformed);

  expect(lines).toHaveLength(5);
  expect(lines[4]).toMatch(/^hosted-client: 51 deliver.*49 with 401, 2 with 400/);
});

test('rejected deliveries are counted when a callback is accepted a minute later', async () => {
  const { deliver, clock, lines } = startUnheard();

  for (let count = 0; count < 3; count++) await deliver(rejected);
  await clock.advance(60_000);
  await deliver();

  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('2 with 401');
});

test.each([
  ['rejects', away],
  ['throws', broken],
  ['does not settle', forever],
])('the responses are the same if onError or the logger %s', async (_what, write) => {
  const logger = { debug: write, info: write, warn: write, error: write };
  for (const given of [{ handler: { onError: write } }, { client: { logger } }]) {
    const { deliver, clock } = startHandler({ ...given, onEvent: (call) => (call === 1 ? away() : undefined) });

    const endings = [await deliver(rejected), await deliver()];
    await clock.advance(1_000);

    expect([...endings, await deliver()]).toEqual(['401 missing', '500 handler', '200 accepted']);
  }
});
