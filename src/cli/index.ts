#!/usr/bin/env node
/**
 * The command `hosted-client`.
 *
 * @module
 */

import { run } from './run.js';

const interruption = new AbortController();
// Once: a second Ctrl+C ends the process as it would without us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interruption.abort(new Error('interrupted')));
}

// Who reads only the first lines, as `head` does, closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') interruption.abort(error);
});

const { env, stdout, stderr } = process;

// Not `process.exit`: what was written to a pipe must leave first.
process.exitCode = await run(process.argv.slice(2), { env, stdout, stderr, signal: interruption.signal });
