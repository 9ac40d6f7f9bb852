// Runs the contracts in Node with jsdom's window in place of what Node has, as jest-environment-jsdom does.

import { createRequire } from 'node:module';

const { JSDOM } = createRequire(process.env.RUNTIMES_MANIFEST)('jsdom');
const { window } = new JSDOM('', { url: 'http://localhost/' });

// All that a page has and Node has not; and the page's own signals and events in place of Node's.
const replaced = ['AbortController', 'AbortSignal', 'Event', 'EventTarget'];
for (const name of Object.getOwnPropertyNames(window)) {
  if (name in globalThis && !replaced.includes(name)) continue;
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true, writable: true });
}
globalThis.window = globalThis;

await import('./run.js');
