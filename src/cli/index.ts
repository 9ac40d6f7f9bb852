#!/usr/bin/env node
/**
 * The command `hosted-client`.
 *
 * @module
 */

import { run } from './run.js';

const interruption = new AbortController();
// `once` is used so that a second Ctrl+C ends the process at once.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interruption.abort(new Error('interrupted')));
}

// A reader such as `head` closes the pipe after the first lines.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') interruption.abort(error);
});

const { env, stdout, stderr } = process;

// `process.exit` is not used: it would drop text that is still being written to a pipe.
process.exitCode = await run(process.argv.slice(2), { env, stdout, stderr, signal: interruption.signal });
