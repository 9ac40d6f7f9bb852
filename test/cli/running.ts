/** Runs the command line in this process, with streams, variables and a signal of its own. */

import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { expect, onTestFinished } from 'vitest';
import type { Context } from '../../src/cli/context.ts';
import { run } from '../../src/cli/run.ts';
import { running } from '../sandbox/running.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The variables that lead a client to where these options do. */
export function envOf({ partnerId, apiKey, baseUrls, environment = 'sandbox' }: HostedClientOptions): Env {
  return {
    HOSTED_PARTNER_ID: partnerId,
    HOSTED_API_KEY: apiKey,
    HOSTED_ENVIRONMENT: environment,
    HOSTED_SANDBOX_BASE_URL: baseUrls.sandbox?.toString(),
    HOSTED_PRODUCTION_BASE_URL: baseUrls.production?.toString(),
  };
}

/** A sandbox for one test, a client of it, and the variables that lead there. */
export async function account(environment: 'sandbox' | 'production' = 'sandbox') {
  const { sandbox } = await running();
  const options = sandbox.clientOptions(environment);
  return { sandbox, client: new HostedClient(options), env: envOf(options) };
}

interface Given extends Partial<Pick<Context, 'clock' | 'signal'>> {
  readonly env?: Env;
  readonly isTTY?: boolean;
}

/** Runs a command to its end. */
export async function command(args: readonly string[], { env = {}, isTTY = false, ...given }: Given = {}) {
  const streams = { stdout: '', stderr: '' };
  const code = await run(args, {
    env,
    signal: new AbortController().signal,
    ...given,
    stdout: { isTTY, write: (text) => (streams.stdout += text) },
    stderr: { isTTY, write: (text) => (streams.stderr += text) },
  });
  return { code, ...streams };
}

/** Expects that a command is rejected as wrong usage, with what would be right. */
export async function expectWrongUse(args: readonly string[], message: string, env: Env = {}): Promise<void> {
  const { code, stdout, stderr } = await command(args, { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
}

/** Starts a command that runs until it is interrupted, and interrupts it with the test at the latest. */
export function start(args: readonly string[], env: Env = {}, isTTY = false) {
  const streams = { stdout: '', stderr: '' };
  const interruption = new AbortController();
  const ended = run(args, {
    env,
    signal: interruption.signal,
    stdout: { isTTY, write: (text) => (streams.stdout += text) },
    stderr: { isTTY, write: (text) => (streams.stderr += text) },
  });
  const interrupt = () => {
    interruption.abort(new Error('interrupted'));
    return ended;
  };
  onTestFinished(async () => void (await interrupt()));
  return { streams, ended, interrupt };
}
