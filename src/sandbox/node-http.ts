/**
 * Node's HTTP module. `import 'node:http'` reads all exports of the module. For one of them, `WebSocket`, Node loads
 * its fetch. This takes 20 ms, and a sandbox does not need it for its first requests.
 *
 * @module
 */

export const http = process.getBuiltinModule('node:http');
