/**
 * Node's HTTP module. `import 'node:http'` would read every export of the module. One of these exports is `WebSocket`.
 * When it is read, Node loads its own code for fetch. Loading that code takes 20 ms, and the first requests of a
 * sandbox do not need it.
 *
 * @module
 */

export const http = process.getBuiltinModule('node:http');
