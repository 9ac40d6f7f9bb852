/**
 * Starts a sandbox: the testing kit's service on a port, with pages and callbacks.
 *
 * @module
 */

import { type HttpServer, listen } from './http-server.js';
import { type Keeper, openFolder } from './keep.js';
import { isLoopbackHost } from './loopback.js';
import { toHostName } from './network-address.js';
import { checkSandboxOptions, createConfigError, type SandboxSettings } from './options.js';
import { createRunningSandbox } from './running-sandbox.js';
import type { Sandbox, SandboxOptions } from './types.js';

/**
 * Starts a sandbox on this machine. It has the environments of the testing kit's service on one port, and the pages
 * that end users open. It posts callbacks. The front page of the sandbox is a console.
 *
 * @param options - Port, folder and other options. Every option has a default.
 * @returns The sandbox, which already listens.
 * @throws {HostedConfigError} when an option is wrong, the port is in use, the folder cannot be used, or another
 *   sandbox uses the folder. The error names each problem.
 *
 * @example From link to result, without an end user
 * ```ts
 * const sandbox = await startSandbox({ port: 0 });
 * const client = new HostedClient(sandbox.clientOptions());
 * const link = await client.links.create({
 *   companyName: 'Example Partner',
 *   dataPrivacyPolicyUrl: 'https://partner.example/privacy',
 *   callbackUrl: 'http://127.0.0.1:3000/callbacks',
 * });
 * const job = await sandbox.play(link.refId, 'approved');
 * console.log((await client.jobs.status(job)).state); // succeeded
 * await sandbox.stop();
 * ```
 *
 * @see [§§2 to 7](../../docs/protocol.md#2-resources) of docs/protocol.md
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = checkSandboxOptions(options);
  const keeper = settings.folder === undefined ? null : openFolder(settings.folder);
  const server = await listenAt(settings, keeper);
  warnOfHost(settings.host);
  return createRunningSandbox(settings, server, keeper);
}

function warnOfHost(host: string): void {
  if (isLoopbackHost(toHostName(host))) return;
  const message = `The sandbox listens on ${host}: anyone on the network can use it and its controls, and read its test keys`;
  process.emitWarning(message, 'HostedSandboxWarning');
}

async function listenAt({ host, port }: SandboxSettings, keeper: Keeper | null): Promise<HttpServer> {
  try {
    return await listen({ host, port });
  } catch (error) {
    keeper?.release();
    const { code } = error as NodeJS.ErrnoException;
    const wrongPort = {
      EADDRINUSE: `must be a free port, and ${port} on ${host} is in use: stop the server that uses it, or choose another port (0 chooses any free port)`,
      EACCES: `must be a port that this user may open: ${port} needs more rights`,
    }[String(code)];
    if (wrongPort !== undefined) throw createConfigError({ path: 'port', message: wrongPort });
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw createConfigError({ path: 'host', message: `must be an address of this machine (${code})` });
    }
    throw error;
  }
}
