/**
 * `listen`: receives callbacks on this machine, verifies and prints them, says what is wrong, and forwards them.
 *
 * @module
 */

import { defaultMaxBytes } from '../../callbacks/options.js';
import { isDeliveryLine } from '../../callbacks/reports.js';
import { type ConfirmedEvent, type HostedClient, isHostedError, type JobStatus } from '../../index.js';
import type { ReceivedRequest, Site } from '../../sandbox/http-server.js';
import { UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { type Context, createClient, exitCodes, nowOf, type TextStream, untilAborted } from '../context.js';
import { RefusedError } from '../failures.js';
import { forwardConfirmed, forwardUnverified, type Receiver } from '../forward-callback.js';
import { writeJsonLine, writeLine } from '../output.js';

const defaultPort = 4086;

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
        'post the confirmed result of each callback to this URL, and respond to the service with the status that this URL returns',
      kind: 'endpoint',
    },
    unverified: { about: 'with --forward: post every body as it came, and verify nothing' },
  },
  async run(given, context) {
    const isJson = given.isSet('json');
    const say = (text: string) => writeLine(isJson ? context.stderr : context.stdout, `${timeOf(context)} ${text}`);
    const forward = given.text('forward');
    const receiver = forward === undefined ? null : { url: forward, signal: context.signal, say };
    const isUnverified = given.isSet('unverified');
    if (isUnverified && receiver === null) throw new UsageError('--unverified needs --forward URL');
    // This command says itself what happens to each delivery, so the client's lines about deliveries are left out.
    const log: TextStream = { write: (line) => isDeliveryLine(line) || context.stderr.write(line) };
    const client = createClient(
      { ...context, stderr: log },
      {
        onEvent(event) {
          if (event.type === 'callback' && event.result === 'repeat') say('repeat: this callback was received before');
        },
      },
    );
    const show = (event: ConfirmedEvent, status: JobStatus) =>
      isJson ? writeJsonLine(context, toRow(event, status)) : say(describe(event, status));
    const respond =
      receiver !== null && isUnverified ? createPassage(receiver) : createEndpoint(client, { say, show, receiver });
    const server = await open(given.number('port') ?? defaultPort, {
      maxBodyBytes: defaultMaxBytes,
      check: () => null,
      onTooLarge({ status }) {
        say(`responded with ${status}: the callback is larger than ${defaultMaxBytes} bytes`);
        return undefined;
      },
      respond,
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

interface Endpoint {
  readonly receiver: Receiver | null;
  say(text: string): void;
  show(event: ConfirmedEvent, status: JobStatus): void;
}

function createEndpoint(client: HostedClient, { receiver, say, show }: Endpoint): Respond {
  return async (request) => {
    let forwarded: Response | null = null;
    // All handlers of a client share their memory, so each delivery may have a handler of its own.
    const handle = client.callbacks.handler({
      async onEvent(event, status) {
        if (receiver === null || event.entry !== null) show(event, status);
        if (receiver === null) return;
        forwarded = await forwardConfirmed(request.body, event, { client, receiver });
        // The next delivery must count as new.
        if (!forwarded.ok) throw new Error('the callback was not accepted');
      },
      onError(error, { status }) {
        if (forwarded === null) say(`responded with ${status}: ${describeProblem(error)}`);
      },
    });
    const response = await handle(toRequest(request));
    return forwarded ?? response;
  };
}

function toRequest({ method, target, headers, body, signal }: ReceivedRequest): Request {
  const path = target.startsWith('/') ? target : '/';
  const type = headers['content-type'];
  return new Request(`http://127.0.0.1${path}`, {
    method,
    signal,
    headers: type === undefined ? {} : { 'content-type': type },
    ...(method !== 'GET' && method !== 'HEAD' && { body: new Uint8Array(body) }),
  });
}

function createPassage(receiver: Receiver): Respond {
  return async ({ method, headers, body }) => {
    if (method === 'POST') return forwardUnverified(body, headers['content-type'], receiver);
    receiver.say('responded with 405: callbacks are sent with POST');
    return new Response(null, { status: 405, headers: { allow: 'POST' } });
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
  const job = `job ${jobId} of user ${userId}${link}`;
  if (event.entry === null) return `not confirmed: the history of ${job} does not have this result: ${state}`;
  return `verified: ${job}: result ${resultCode ?? 'without code'}, ${state}`;
}

function timeOf(context: Context): string {
  return new Date(nowOf(context)).toISOString().slice(11, 19);
}
