/** Prints each call of a program that is started with `node --import ./print-calls.ts`. */

import { tracingChannel } from 'node:diagnostics_channel';

tracingChannel('hosted-client:call').asyncEnd.subscribe((message) => {
  console.log(message);
});
