/**
 * `listen`: receives callbacks on this machine, verifies and prints them, says what is wrong, and forwards them.
 *
 * @module
 */

import { defaultMaxBytes } from '../../callbacks/options.js';
import { type ConfirmedEvent, type HostedClient, isHostedError, type JobStatus } from '../../index.js';
import type { ReceivedRequest, Site } from '../../sandbox/http-server.js';
import type { Command } from '../command.js';
import { type Context, createClient, exitCodes, nowOf, untilAborted } from '../context.js';
import { RefusedError } from '../failures.js';
import { writeJsonLine, writeLine } from '../output.js';

const defaultPort = 4086;

/** How long the receiver of a forwarded callback may take, in ms. */
const forwardTimeoutMs = 10_000;

export const listenCommand: Command = {
  name: 'listen',
  about: 'receive callbacks on this machine, verify them, and print them or say what is wrong',
  positionals: [],
  flags: {
    port: {
      value: 'N',
      about: `the port; default ${defaultPort}, and 0 takes any free port`,
      kind: 'integer',
      min: 0,
      max: 65_535,
    },
    forward: {
      value: 'URL',
      about:
        'post verified callbacks to this URL, unchanged, and respond to the service with the status that this URL returns',
      kind: 'url',
    },
  },
  async run(given, context) {
    const isJson = given.isSet('json');
    const say = (text: string) => writeLine(isJson ? context.stderr : context.stdout, `${timeOf(context)} ${text}`);
    const client = createClient(context, {
      onEvent(event) {
        if (event.type === 'callback' && event.result === 'repeat') say('repeat: this callback was received before');
      },
    });
    const handle = createEndpoint(client, {
      say,
      show: (event, status) => (isJson ? writeJsonLine(context, toRow(event, status)) : say(describe(event, status))),
    });
    const forward = given.text('forward');
    const server = await open(given.number('port') ?? defaultPort, {
      maxBodyBytes: defaultMaxBytes,
      check: () => null,
      onTooLarge: ({ status }) => say(`responded with ${status}: the callback is larger than ${defaultMaxBytes} bytes`),
      async respond(request) {
        const response = await handle(request);
        if (forward === undefined || response.status !== 200) return response;
        return passOn(request, { url: forward, signal: context.signal, say });
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
    return exitCodes.interrupted;
  },
};

type Respond = (request: ReceivedRequest) => Promise<Response>;

async function open(port: number, site: Site) {
  const { listen } = await import('../../sandbox/http-server.js');
  try {
    return await listen({ host: '127.0.0.1', port }, () => site);
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

interface Reporting {
  say(text: string): void;
  show(event: ConfirmedEvent, status: JobStatus): void;
}

function createEndpoint(client: HostedClient, { say, show }: Reporting): Respond {
  const handle = client.callbacks.handler({
    onEvent: show,
    onError: (error, { status }) => say(`responded with ${status}: ${describeProblem(error)}`),
  });
  return ({ method, target, headers, body, signal }) => {
    const path = target.startsWith('/') ? target : '/';
    const type = headers['content-type'];
    return handle(
      new Request(`http://127.0.0.1${path}`, {
        method,
        signal,
        headers: type === undefined ? {} : { 'content-type': type },
        ...(method !== 'GET' && method !== 'HEAD' && { body: new Uint8Array(body) }),
      }),
    );
  };
}

function describeProblem(error: unknown): string {
  return isHostedError(error) ? error.message : 'the callback could not be handled';
}

function toRow({ id, userId, jobId, linkId, entry }: ConfirmedEvent, { state }: JobStatus) {
  return { id, userId, jobId, linkId, state, resultCode: entry?.resultCode ?? null };
}

function describe(event: ConfirmedEvent, status: JobStatus): string {
  const { userId, jobId, linkId, state, resultCode } = toRow(event, status);
  const link = linkId === null ? '' : `, link ${linkId}`;
  return `verified: job ${jobId} of user ${userId}${link}: result ${resultCode ?? 'without code'}, ${state}`;
}

interface Target {
  readonly url: string;
  readonly signal: AbortSignal;
  say(text: string): void;
}

// The sender gets the receiver's status. So the sender redelivers a callback that failed at the receiver.
async function passOn({ headers, body }: ReceivedRequest, { url, signal, say }: Target): Promise<Response> {
  const { origin } = new URL(url);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': headers['content-type'] ?? 'application/json' },
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(forwardTimeoutMs)]),
    });
    await response.body?.cancel();
    say(`forwarded to ${origin}: ${response.status}`);
    return new Response(null, { status: response.status >= 200 ? response.status : 502 });
  } catch {
    say(`not forwarded: no response from ${origin}`);
    return new Response(null, { status: 502 });
  }
}

function timeOf(context: Context): string {
  return new Date(nowOf(context)).toISOString().slice(11, 19);
}
