/**
 * A healthy run of 10,000 jobs, in which no alert rule of docs/observability.md may fire. Where Prometheus's promtool is
 * installed, or its path is in PROMTOOL, it evaluates the rules too, in every run.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { env, stdout } from 'node:process';
import { alertsIn, rulesText, run, runs, type Series } from '../support/alert-rules.ts';

const promtool = env.PROMTOOL ?? 'promtool';
const hasPromtool = spawnSync(promtool, ['--version']).status === 0;
if (!hasPromtool) stdout.write('promtool is not installed, so only the tests evaluate the rules\n');

/** A test of promtool: what has fired by the end of the run. */
function toTest(series: Series, minutes: number, alerts: readonly string[]) {
  return {
    interval: '1m',
    input_series: [...series].map(([id, values]) => ({
      series: id,
      values: values.map((value) => value ?? '_').join(' '),
    })),
    promql_expr_test: [
      {
        expr: `max_over_time(ALERTS{alertstate="firing"}[${minutes}m])`,
        eval_time: `${minutes - 1}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}",alertstate="firing"}`, value: 1 })),
      },
    ],
  };
}

/** What promtool says about a run. Null if the alerts are the expected ones. */
function askPromtool(series: Series, minutes: number, alerts: readonly string[]): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'alert-rules-'));
  try {
    const rulesFile = join(folder, 'rules.yml');
    const testFile = join(folder, 'test.yml');
    writeFileSync(rulesFile, rulesText);
    const tests = [toTest(series, minutes, alerts)];
    // JSON is YAML, too.
    writeFileSync(testFile, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
    const { status, stdout: out, stderr } = spawnSync(promtool, ['test', 'rules', testFile], { encoding: 'utf8' });
    return status === 0 ? null : `${out}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const healthy = {
  minutes: 250,
  jobsPerMinute: 40,
  jobMinutes: 3,
  fails: (_: number, { number, attempt }: { number: number; attempt: number }) => number % 33 === 0 && attempt === 1,
};
for (const [name, given, alerts] of [...runs, ['a healthy run of 10,000 jobs', healthy, []] as const]) {
  const { series, handled } = await run(given);
  const found = alertsIn(series, given.minutes);
  const problem = hasPromtool ? askPromtool(series, given.minutes, alerts) : null;
  const isRight = found.join() === alerts.join() && problem === null;
  if (!isRight) process.exitCode = 1;
  const said = hasPromtool ? `, and promtool ${problem === null ? 'agrees' : `does not: ${problem}`}` : '';
  stdout.write(
    `${isRight ? 'ok' : 'FAILED'} ${name}: ${handled} handled in ${given.minutes} min, fired: ${found.join(', ') || 'none'}${said}\n`,
  );
}
