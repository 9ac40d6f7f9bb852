/**
 * `play`: does what an end user does on a link's page in the sandbox.
 *
 * @module
 */

import { isLoopback } from '../../protocol/http-url.js';
import { outcomeNames } from '../../sandbox/outcomes.js';
import { describeChoice, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import type { Context } from '../context.js';
import { RefusedError, UnreachableError } from '../failures.js';
import { writeFacts, writeJsonLine } from '../output.js';
import { readIssues, readJob } from './sandbox-response.js';

export const playCommand: Command = {
  name: 'play',
  about: `play an outcome on a link of the sandbox, or on a copy of the newest link: ${outcomeNames.join(', ')}`,
  positionals: ['[REF]', 'OUTCOME'],
  flags: {
    origin: {
      value: 'URL',
      about:
        'the URL of the sandbox; default: the base URL in the environment variables if this URL is on this machine, otherwise http://127.0.0.1:4085',
      kind: 'endpoint',
    },
  },
  async run(given, context) {
    const [outcome = '', refId] = given.positionals.toReversed();
    if (!(outcomeNames as readonly string[]).includes(outcome)) {
      throw new UsageError(`OUTCOME ${describeChoice(outcome, outcomeNames)}`);
    }
    const environment = context.env.HOSTED_ENVIRONMENT || 'sandbox';
    const origin = new URL(given.text('origin') ?? findOrigin(context, environment)).origin;
    const job = await post(`${origin}/control/play`, { refId, outcome, environment }, context);
    if (given.isSet('json')) writeJsonLine(context, job);
    else writeFacts(context, { 'User id': job.userId, 'Job id': job.jobId });
  },
};

// The URL in the variables is used only if it is on this machine, because the real service cannot play outcomes.
function findOrigin({ env }: Context, environment: string): string {
  const given = env[`HOSTED_${environment.toUpperCase()}_BASE_URL`];
  const url = given === undefined ? null : URL.parse(given);
  return url !== null && isLoopback(url.hostname) ? url.origin : 'http://127.0.0.1:4085';
}

async function post(url: string, body: object, { signal }: Context) {
  const { origin } = new URL(url);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
    });
    text = await response.text();
  } catch {
    throw new UnreachableError(`No sandbox responds at ${origin}: "npx hosted-client sandbox" starts a sandbox`);
  }
  const job = response.status === 200 ? readJob(text) : null;
  if (job !== null) return job;
  const issues = readIssues(text);
  if (issues !== null) throw new RefusedError(`The sandbox rejected the input: ${issues}`);
  throw new RefusedError(`The server at ${origin} is not a sandbox (status ${response.status}): see --origin`);
}
