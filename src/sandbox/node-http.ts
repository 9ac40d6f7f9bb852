/**
 * Node's HTTP module. `import 'node:http'` would read every export of the module. When the export `WebSocket` is read,
 * Node loads its code for fetch. This takes 20 ms, and the first requests of a sandbox do not need this code.
 *
 * @module
 */

export const http = process.getBuiltinModule('node:http');
