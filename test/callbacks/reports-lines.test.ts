// The log lines about deliveries that were rejected or failed, and callers' loggers and `onError` that fail.

import { expect, test } from 'vitest';
import { createDeliveryReports, createFailure, isDeliveryLine } from '../../src/callbacks/reports.js';
import { HostedConnectionError } from '../../src/errors/errors.js';
import { createPlatformClock } from '../../src/runtime/clock.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { away, broken, failsOnce, startHandler } from './deliveries.js';

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
const connection = new HostedConnectionError('the connection broke', { operation: 'jobs.status' });

test.each([
  ['read', personal, 'its body could not be read'],
  ['verify', personal, 'it could not be verified'],
  ['guard', personal, 'the replay guard failed'],
  ['confirm', personal, 'it could not be confirmed'],
  ['confirm', connection, connection.message],
  ['handle', personal, 'onEvent rejected'],
  // An error of the package may come from a call that onEvent made: its message is the caller's.
  ['handle', connection, 'onEvent rejected'],
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

test('each failed delivery has a log line, and the rejected ones are counted in one line a minute', async () => {
  const { run, lines } = startHandler({ confirm: false, onEvent: away });

  await run([...Array(50).fill(rejected), {}, {}, {}]);
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(/^hosted-client: 1 deliver.*1 with 401/);
  expect(lines.slice(1).every((line) => line.includes('500'))).toBe(true);
  await run([59_999, malformed]);
  expect(lines).toHaveLength(4);
  await run([1, malformed]);

  expect(lines).toHaveLength(5);
  expect(lines[4]).toMatch(/^hosted-client: 51 deliver.*49 with 401, 2 with 400/);
  expect(lines.every(isDeliveryLine)).toBe(true);
});

test('rejected deliveries are counted when a callback is accepted a minute later', async () => {
  const { run, lines } = startHandler({ confirm: false });

  await run([rejected, rejected, rejected, 60_000, { at: 60_000 }]);

  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('2 with 401');
});

test.each([
  ['rejects', away],
  ['throws', broken],
  ['does not settle', () => new Promise<void>(() => undefined)],
])('the responses are the same if onError or the logger %s', async (_what, write) => {
  const logger = { debug: write, info: write, warn: write, error: write };
  for (const given of [{ handler: { onError: write } }, { client: { logger } }]) {
    const handler = startHandler({ ...given, onEvent: failsOnce });

    await handler.run([rejected, {}, {}]);

    expect(handler.endings()).toEqual(['401 missing', '500 handler', '200 accepted']);
  }
});
