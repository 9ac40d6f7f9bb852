/**
 * `doctor`: says in words what is wrong with an integration.
 *
 * @module
 */

import type { Command } from '../command.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { checkDoor } from '../doctor/callback-door.js';
import type { Finding } from '../doctor/finding.js';
import { checkAddress, checkCall, checkJobStatus } from '../doctor/service.js';
import { checkVariables } from '../doctor/variables.js';
import { writeJsonLine, writeLine } from '../output.js';

export const doctorCommand: Command = {
  name: 'doctor',
  about: 'say what is wrong with an integration: variables, key, address, clock, a signed call, callback door',
  positionals: [],
  flags: {
    callback: { value: 'URL', about: 'also try whether your callback door refuses what is not signed', kind: 'url' },
  },
  async run(given, context) {
    const callback = given.text('callback');
    const findings = await examine(callback, context);
    const isWell = findings.every(({ state }) => state === 'well' || state === 'warning');
    if (given.isSet('json')) writeJsonLine(context, { well: isWell, findings });
    else for (const finding of findings) writeLine(context.stdout, describe(finding));
    return judge(findings);
  },
};

async function examine(callback: string | undefined, context: Context): Promise<readonly Finding[]> {
  const findings = await examineService(context);
  if (callback === undefined) return findings;
  const door = await checkDoor(callback, context);
  // A door that accepts anything is worse than all else.
  return door.state === 'wrong' ? [door, ...findings] : [...findings, door];
}

async function examineService(context: Context): Promise<readonly Finding[]> {
  const { findings, client, addresses } = checkVariables(context);
  if (addresses === null) return [...findings, skip('address', 'until its variable is right')];
  const reached = await checkAddress(addresses.links, context);
  const all = [...findings, ...reached];
  if (client === null) return [...all, skip('call', 'until the variables are right')];
  const isReached = reached.every(({ state }) => state !== 'unreachable');
  const call = isReached ? await checkCall(client, context) : skip('call', 'until the address answers');
  const isElsewhere = new URL(addresses.jobs).origin !== new URL(addresses.links).origin;
  const jobStatus =
    isReached || isElsewhere ? await checkJobStatus(client, context) : skip('job_status', 'until the address answers');
  return [...all, call, jobStatus];
}

function skip(check: Finding['check'], until: string): Finding {
  return { check, state: 'skipped', message: `not tried ${until}` };
}

function judge(findings: readonly Finding[]): ExitCode {
  if (findings.some(({ state }) => state === 'wrong')) return exitCodes.refused;
  return findings.some(({ state }) => state === 'unreachable') ? exitCodes.unreachable : exitCodes.done;
}

const words: Readonly<Record<Finding['state'], string>> = {
  well: 'well   ',
  warning: 'warning',
  wrong: 'WRONG  ',
  unreachable: 'WRONG  ',
  skipped: 'skipped',
};

const titles: Readonly<Record<Finding['check'], string>> = {
  callback: 'callback door',
  variables: 'variables',
  key: 'key',
  address: 'address',
  clock: 'clock',
  call: 'signed call',
  job_status: 'job status',
};

function describe({ check, state, message }: Finding): string {
  return `${words[state]}  ${titles[check]}: ${message}`;
}
