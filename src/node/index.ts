/**
 * Receives callbacks in frameworks with their own type of request: `node:http`, Express, Connect, Nest, Fastify, AWS
 * Lambda.
 *
 * @module hosted-client/node
 */

export { lambdaHandler } from './lambda-handler.js';
export { nodeHandler } from './node-handler.js';
