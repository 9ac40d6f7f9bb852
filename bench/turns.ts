/** Lets the variants take turns (A B C, A B C, …), each in a separate process. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { BlockSettings } from './blocks/block.ts';
import type { CallsSettings } from './blocks/calls.ts';
import type { InFlightSettings } from './blocks/in-flight.ts';
import type { SandboxSettings } from './blocks/sandbox.ts';
import type { WaitsSettings } from './blocks/waits.ts';
import type { WalkSettings } from './blocks/walk.ts';
import type { Report } from './turn.ts';

/** The settings of each block, by the name of its file. */
interface Settings {
  readonly calls: CallsSettings;
  readonly walk: WalkSettings;
  readonly 'long-walk': object;
  readonly 'in-flight': InFlightSettings;
  readonly waits: WaitsSettings;
  readonly signing: object;
  readonly sandbox: SandboxSettings;
}

/** A variant that takes part in a measure. */
export interface Participant extends BlockSettings {
  readonly name: string;
}

/** The measurements of a variant by name, one value for each round, or the reason why the variant failed. */
export type Outcome = { readonly figures: Readonly<Record<string, readonly number[]>> } | { readonly failed: string };

/** The limit of one turn in ms. A longer turn has failed. */
const turnLimitMs = 300_000;

/** Runs all rounds, and returns the outcome of each participant by name. */
export async function takeTurns<Name extends keyof Settings>({
  block,
  participants,
  settings,
  rounds,
  warmUps = 0,
}: {
  block: Name;
  participants: readonly Participant[];
  settings: (participant: Participant) => Settings[Name];
  rounds: number;
  /** How many additional rounds come first. They do not count, because the engine compiles the code during them. */
  warmUps?: number;
}): Promise<Readonly<Record<string, Outcome>>> {
  const processes = [];
  for (const participant of participants)
    processes.push(await startProcess(block, { ...participant, ...settings(participant) }));
  for (let round = -warmUps; round < rounds; round++) {
    for (const each of processes) await each.takeTurn(round >= 0);
  }
  return Object.fromEntries(processes.map(({ name, end }) => [name, end()]));
}

async function startProcess(block: string, settings: Participant) {
  const child = fork(new URL('turn.ts', import.meta.url), [block, JSON.stringify(settings)], {
    execArgv: ['--expose-gc'],
  });
  const figures: Record<string, number[]> = {};
  let failed: string | null = null;

  async function receiveReport(isCounted: boolean): Promise<void> {
    const report = await nextReport(child);
    if ('failed' in report) {
      failed = report.failed;
      console.error(`${settings.name} FAILED: ${failed}`);
    } else if (isCounted) {
      for (const [name, figure] of Object.entries(report.figures)) figures[name] = [...(figures[name] ?? []), figure];
    }
  }

  await receiveReport(false);
  return {
    name: settings.name,
    async takeTurn(isCounted: boolean): Promise<void> {
      if (failed !== null) return;
      child.send('next');
      await receiveReport(isCounted);
    },
    end(): Outcome {
      if (child.connected) child.disconnect();
      return failed === null ? { figures } : { failed };
    },
  };
}

async function nextReport(child: ChildProcess): Promise<Report> {
  const ending = new AbortController();
  const { signal } = ending;
  const timer = setTimeout(() => ending.abort(), turnLimitMs);
  try {
    const reported = once(child, 'message', { signal }).then(([report]) => report as Report);
    const exited = once(child, 'exit', { signal }).then(([code]) => ({ failed: `The process ended with ${code}` }));
    return await Promise.race([reported, exited]);
  } catch {
    child.kill();
    return { failed: `The turn took longer than ${turnLimitMs / 1_000} s` };
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}
