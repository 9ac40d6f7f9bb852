// The alert rules of docs/observability.md: each fires for its cause alone, and none fires in a healthy run.

import { expect, test } from 'vitest';
import { alertsIn, rules, run, runs } from '../support/alert-rules.ts';

test('the page has four rules', () => {
  expect(rules.map(({ alert }) => alert)).toEqual([
    'HostedServiceDown',
    'HostedBudgetTooSmall',
    'HostedHandlerFailing',
    'HostedDeadLetters',
  ]);
});

test.each(runs)('of %s, the alerts are those of its cause', async (_, given, alerts) => {
  const { series, handled } = await run(given);

  expect(handled > 0 || given.jobMinutes > given.minutes).toBe(true);
  expect(alertsIn(series, given.minutes)).toEqual(alerts);
});
