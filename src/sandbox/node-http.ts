/**
 * Node's HTTP module. `import 'node:http'` reads all of its exports, and for `WebSocket` among them Node loads its
 * fetch: 20 ms that a sandbox does not need for its first requests.
 *
 * @module
 */

export const http = process.getBuiltinModule('node:http');
