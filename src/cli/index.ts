#!/usr/bin/env node
/**
 * The command `hosted-client`.
 *
 * @module
 */

import { exitCodes } from './context.js';
import { writeLine } from './output.js';
import { run } from './run.js';

const interruption = new AbortController();
// `once` is used so that a second Ctrl+C ends the process at once.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interruption.abort(new Error('interrupted')));
}

const { env, stdout, stderr } = process;

// What goes to this machine must not go to a proxy. Node reads this variable at each request.
const excepted = env.no_proxy ?? env.NO_PROXY ?? '';
if (excepted !== '*') env.NO_PROXY = env.no_proxy = `localhost,127.0.0.1,[::1],${excepted}`;

stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` closes the pipe after the first lines.
  if (error.code === 'EPIPE') return interruption.abort(error);
  // Any other error, for example because the disk is full, may come after the command has ended. So the exit code is
  // set when the process exits.
  process.once('exit', () => {
    process.exitCode = exitCodes.refused;
  });
  writeLine(stderr, `The output is not complete (${error.code ?? 'no code'})`);
});
// If the reader of stderr closes the pipe, the command continues.
stderr.on('error', () => undefined);

// `process.exit` is not used: it would drop text that is still being written to a pipe.
process.exitCode = await run(process.argv.slice(2), { env, stdout, stderr, signal: interruption.signal });
