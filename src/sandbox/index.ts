/**
 * `hosted-client/sandbox`: the testing kit's service on a real port, with the pages that end users open, a console, and
 * callbacks. For Node.
 *
 * @module hosted-client/sandbox
 */

export { startSandbox } from './start-sandbox.js';
export type {
  Sandbox,
  SandboxCallback,
  SandboxFault,
  SandboxOptions,
  SandboxOutcome,
  SandboxRequest,
  SignatureProblem,
} from './types.js';
