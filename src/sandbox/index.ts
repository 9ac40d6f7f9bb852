/**
 * `hosted-client/sandbox`: the testing kit's service on a real port, with the page that an end user opens, callbacks
 * that are posted, and a console. For Node.
 *
 * @module hosted-client/sandbox
 */

export { startSandbox } from './start-sandbox.js';
export type {
  Sandbox,
  SandboxCallback,
  SandboxOptions,
  SandboxOutcome,
  SandboxRequest,
  SignatureProblem,
} from './types.js';
