// Runs the contracts in Node with the promises of another library in place of Node's: `bluebird` or `zone.js`.

import { createRequire } from 'node:module';

const name = process.argv[2];
const library = createRequire(process.env.RUNTIMES_MANIFEST)(name);
if (name === 'bluebird') globalThis.Promise = library;

await import('./run.js');
