/**
 * `listen`: receives callbacks on this machine, verifies and prints them, and says what is wrong.
 *
 * @module
 */

import { defaultMaxBytes as maxBytes } from '../../callbacks/options.js';
import { type HostedClient, HostedSignatureError, isHostedError } from '../../index.js';
import type { ReceivedRequest, Site } from '../../sandbox/http-server.js';
import { portFlag } from '../arguments.js';
import type { Command } from '../command.js';
import { type Context, createClient, nowOf, untilAborted } from '../context.js';
import { RefusedError } from '../failures.js';
import { writeJsonLine, writeLine } from '../output.js';

const defaultPort = 4086;

export const listenCommand: Command = {
  name: 'listen',
  about: 'receive callbacks on this machine, verify them, and print them or say what is wrong',
  positionals: [],
  flags: { port: portFlag(defaultPort) },
  async run(given, context) {
    const isJson = given.isSet('json');
    const say = (text: string) => writeLine(isJson ? context.stderr : context.stdout, `${timeOf(context)} ${text}`);
    const show = (row: Row) => (isJson ? writeJsonLine(context, row) : say(describe(row)));
    const client = createClient(context);
    const server = await open(given.number('port') ?? defaultPort, {
      maxBodyBytes: maxBytes,
      check: () => null,
      onTooLarge({ status }) {
        say(`responded with ${status}: the callback is larger than ${maxBytes} bytes`);
        return undefined;
      },
      async respond(request) {
        const { status, problem } = await receive(request, { client, show });
        if (problem !== null) say(`responded with ${status}: ${problem}`);
        // A word, as in the responses of `callbacks.handler()`.
        return new Response(problem === null ? 'accepted' : 'rejected', { status });
      },
    });
    try {
      const url = `http://127.0.0.1:${server.port}/`;
      if (isJson) writeJsonLine(context, { url });
      else say(`receives callbacks at ${url}`);
      await untilAborted(context.signal);
    } finally {
      await server.close();
    }
  },
};

async function open(port: number, site: Site) {
  const { listen } = await import('../../sandbox/http-server.js');
  try {
    const server = await listen({ host: '127.0.0.1', port });
    server.serve(site);
    return server;
  } catch (error) {
    const code: unknown = Object(error).code;
    if (code === 'EADDRINUSE')
      throw new RefusedError(
        `Port ${port} is in use: stop the server that uses it, or choose another port with --port`,
      );
    if (code === 'EACCES') throw new RefusedError(`Port ${port} needs more rights: choose another port with --port`);
    throw error;
  }
}

/** What is printed of a verified callback: nothing of the person beyond ids. */
interface Row {
  readonly userId: string;
  readonly jobId: string;
  readonly linkId: string | null;
  readonly state: string;
  readonly resultCode: string | null;
}

interface Endpoint {
  readonly client: HostedClient;
  show(row: Row): void;
}

/** Verifies a callback, and shows what the job's verified status says. Returns the response's status, and the problem. */
async function receive({ method, body, signal }: ReceivedRequest, { client, show }: Endpoint) {
  if (method !== 'POST') return { status: 405, problem: 'callbacks are sent with POST' };
  let isVerified = false;
  try {
    const { userId, jobId, linkId } = await client.callbacks.receive(body);
    isVerified = true;
    const { state, history } = await client.jobs.status({ userId, jobId, history: true }, { signal });
    show({ userId, jobId, linkId, state, resultCode: history?.at(-1)?.resultCode ?? null });
    return { status: 200, problem: null };
  } catch (error) {
    const status = isVerified ? 503 : error instanceof HostedSignatureError ? 401 : 400;
    return { status, problem: isHostedError(error) ? error.message : 'the callback could not be handled' };
  }
}

function describe({ userId, jobId, linkId, state, resultCode }: Row): string {
  const link = linkId === null ? '' : `, link ${linkId}`;
  return `verified: job ${jobId} of user ${userId}${link}: result ${resultCode ?? 'without code'}, ${state}`;
}

function timeOf(context: Context): string {
  return new Date(nowOf(context)).toISOString().slice(11, 19);
}
