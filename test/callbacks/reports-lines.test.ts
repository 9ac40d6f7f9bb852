/** What the log says of deliveries that did not end in 200. */

import { expect, test } from 'vitest';
import { createDeliveryReports, createFailure } from '../../src/callbacks/reports.js';
import { HostedConnectionError } from '../../src/errors/errors.js';

function start() {
  const lines: string[] = [];
  const telemetry = {
    report: () => undefined,
    warn: (line: string) => void lines.push(line),
    calls: 0,
  };
  return { lines, reports: createDeliveryReports(telemetry, { elapsed: () => 0 }) };
}

const away = new Error('personal data');
const broken = new HostedConnectionError('the connection broke', { operation: 'jobs.status' });

test.each([
  ['read', away, 'its body could not be read'],
  ['verify', away, 'it could not be verified'],
  ['guard', away, 'the replay guard failed'],
  ['confirm', away, 'it could not be confirmed'],
  ['confirm', broken, broken.message],
  ['handle', away, 'onEvent rejected'],
  // An error of the package may come from a call that onEvent made: what it says is the caller's own affair.
  ['handle', broken, 'onEvent rejected'],
] as const)(
  'the log line of a delivery that failed in phase %s says why, as far as may be shown',
  (phase, error, why) => {
    const { lines, reports } = start();

    reports.report(createFailure(phase, 503, 'code', error), 0, undefined);

    expect(lines).toEqual([`a callback failed with status 503 (code) and has to be redelivered: ${why}`]);
  },
);

test.each([
  ['of the package', broken, `; the latest: ${broken.message}`],
  ['of any other kind', away, ''],
])('the log line about refused deliveries shows the latest error where it is %s', (_what, error, latest) => {
  const { lines, reports } = start();

  reports.report(createFailure('read', 400, 'code', error), 0, undefined);

  expect(lines).toEqual([`1 delivery of a callback was rejected (1 with 400)${latest}`]);
});
