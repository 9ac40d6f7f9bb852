/**
 * Receives callbacks where a framework has requests of its own: `node:http`, Express, Connect, Nest, Fastify,
 * AWS Lambda.
 *
 * @module hosted-client/node
 */

export { lambdaHandler } from './lambda-handler.js';
export { nodeHandler } from './node-handler.js';
