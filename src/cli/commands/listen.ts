/**
 * `listen`: receives callbacks on this machine, verifies and prints them, and says what is wrong.
 *
 * @module
 */

import { defaultMaxBytes } from '../../callbacks/options.js';
import { isDeliveryLine } from '../../callbacks/reports.js';
import { isHostedError, type JobEvent, type JobStatus } from '../../index.js';
import { resultsOf } from '../../jobs/version.js';
import type { ReceivedRequest, Site } from '../../sandbox/http-server.js';
import type { Command } from '../command.js';
import { type Context, createClient, exitCodes, nowOf, type TextStream, untilAborted } from '../context.js';
import { RefusedError } from '../failures.js';
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
  },
  async run(given, context) {
    const isJson = given.isSet('json');
    const say = (text: string) => writeLine(isJson ? context.stderr : context.stdout, `${timeOf(context)} ${text}`);
    // This command says itself what happens to each delivery, so the client's lines about deliveries are left out.
    const log: TextStream = { write: (line) => isDeliveryLine(line) || context.stderr.write(line) };
    const client = createClient(
      { ...context, stderr: log },
      {
        onEvent(event) {
          if (event.type === 'callback' && event.result === 'repeat')
            say('nothing new: the status of its job says what it said before, or nothing yet');
        },
      },
    );
    const handle = client.callbacks.handler({
      onEvent: (event, status) =>
        isJson ? writeJsonLine(context, toRow(event, status)) : say(describe(event, status)),
      onError: (error, { status }) =>
        say(`responded with ${status}: ${isHostedError(error) ? error.message : 'the callback could not be handled'}`),
    });
    const server = await open(given.number('port') ?? defaultPort, {
      maxBodyBytes: defaultMaxBytes,
      check: () => null,
      onTooLarge({ status }) {
        say(`responded with ${status}: the callback is larger than ${defaultMaxBytes} bytes`);
        return undefined;
      },
      respond: (request) => handle(toRequest(request)),
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

function toRow({ id, userId, jobId, linkId }: JobEvent, status: JobStatus) {
  const resultCode = resultsOf(status).at(-1)?.resultCode ?? null;
  return { id, userId, jobId, linkId, state: status.state, resultCode };
}

function describe(event: JobEvent, status: JobStatus): string {
  const { userId, jobId, linkId, state, resultCode } = toRow(event, status);
  const link = linkId === null ? '' : `, link ${linkId}`;
  return `verified: job ${jobId} of user ${userId}${link}: result ${resultCode ?? 'without code'}, ${state}`;
}

function timeOf(context: Context): string {
  return new Date(nowOf(context)).toISOString().slice(11, 19);
}
