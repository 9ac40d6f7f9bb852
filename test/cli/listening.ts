/** The command `listen`, and a sandbox that posts callbacks to it. */

import type { SandboxOutcome } from 'hosted-client/sandbox';
import { expect } from 'vitest';
import { newLink, running } from '../sandbox/running.js';
import { envOf, start } from './running.js';

/** A sandbox, and a command that receives its callbacks. */
export async function listening() {
  const { sandbox, client } = await running();
  const listening = start(['listen', '--port', '0', '--json'], envOf(sandbox.clientOptions()));
  await expect.poll(() => listening.streams.stdout).toContain('\n');
  const { url } = JSON.parse(listening.streams.stdout) as { url: string };
  const play = async (outcome: SandboxOutcome) => {
    const { refId } = await client.links.create({ ...newLink, callbackUrl: url });
    const job = await sandbox.play(refId, outcome);
    await sandbox.idle();
    return { refId, job };
  };
  const events = () =>
    listening.streams.stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line) as unknown);
  return { sandbox, client, url, play, events, ...listening };
}
