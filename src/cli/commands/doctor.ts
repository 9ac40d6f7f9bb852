/**
 * `doctor`: says in words what is wrong with an integration.
 *
 * @module
 */

import { findCallbackUrlProblem } from '../../protocol/http-url.js';
import type { Command } from '../command.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { checkEndpoint } from '../doctor/callback-endpoint.js';
import type { Finding } from '../doctor/finding.js';
import { checkAddress, checkCall, checkJobStatus } from '../doctor/service.js';
import { checkVariables, type Setup } from '../doctor/variables.js';
import { type Style, writeJsonLine, writeLine } from '../output.js';

export const doctorCommand: Command = {
  name: 'doctor',
  about: 'check an integration: variables, key, URL, clock, a signed call, job status, callback endpoint',
  positionals: [],
  flags: {
    callback: {
      value: 'URL',
      about: 'also check that your callback endpoint rejects callbacks without a valid signature',
      kind: 'endpoint',
    },
  },
  async run(given, context) {
    const callback = given.text('callback');
    const findings = await examine(callback, context);
    const isWell = findings.every(({ state }) => state === 'well' || state === 'warning');
    if (given.isSet('json')) writeJsonLine(context, { well: isWell, findings });
    else for (const finding of findings) write(context, finding);
    return judge(findings);
  },
};

async function examine(callback: string | undefined, context: Context): Promise<readonly Finding[]> {
  const setup = checkVariables(context);
  const findings = await examineService(setup, context);
  if (callback === undefined) return findings;
  const problem = setup.addresses && findCallbackUrlProblem(callback, setup.addresses.links);
  if (problem) findings.push({ check: 'callback', state: 'warning', message: `the URL ${problem}` });
  const endpoint = await checkEndpoint(callback, context);
  // An endpoint that accepts forged callbacks is the worst problem, so it comes first.
  return endpoint.state === 'wrong' ? [endpoint, ...findings] : [...findings, endpoint];
}

async function examineService({ findings, client, addresses }: Setup, context: Context): Promise<Finding[]> {
  if (addresses === null) return [...findings, skip('address', 'because the variable with the URL is not right')];
  const reached = await checkAddress(addresses.links, context);
  const all = [...findings, ...reached];
  if (client === null) return [...all, skip('call', 'because the variables are not right')];
  const isReached = reached.every(({ state }) => state !== 'unreachable');
  const call = isReached ? await checkCall(client, context) : skip('call', 'because the URL did not respond');
  const isElsewhere = new URL(addresses.jobs).origin !== new URL(addresses.links).origin;
  const jobStatus =
    isReached || isElsewhere
      ? await checkJobStatus(client, context)
      : skip('job_status', 'because the URL did not respond');
  return [...all, call, jobStatus];
}

function skip(check: Finding['check'], why: string): Finding {
  return { check, state: 'skipped', message: `not checked ${why}` };
}

function judge(findings: readonly Finding[]): ExitCode {
  if (findings.some(({ state }) => state === 'wrong')) return exitCodes.refused;
  return findings.some(({ state }) => state === 'unreachable') ? exitCodes.unreachable : exitCodes.done;
}

const marks: Readonly<Record<Finding['state'], readonly [word: string, style?: Style]>> = {
  well: ['well'],
  warning: ['warning', 'yellow'],
  wrong: ['WRONG', 'red'],
  unreachable: ['WRONG', 'red'],
  skipped: ['skipped', 'dim'],
};

const titles: Readonly<Record<Finding['check'], string>> = {
  callback: 'callback endpoint',
  variables: 'variables',
  key: 'key',
  address: 'URL',
  clock: 'clock',
  call: 'signed call',
  job_status: 'job status',
};

function write({ stdout }: Context, { check, state, message }: Finding): void {
  const [word, style] = marks[state];
  writeLine(stdout, `${word.padEnd(7)}  ${titles[check]}: ${message}`, style);
}
