/** Measures how long a sandbox takes to start, the time of a call to it, and its memory after many calls. */

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eachFigure, medians, type Row, ratios, valueIn } from '../row.ts';
import { rounded } from '../statistics.ts';
import { type Outcome, takeTurns } from '../turns.ts';
import { type Context, participantsOf } from './context.ts';

const rounds = 15;
const megabyte = 1_000_000;

export async function sandboxRows(context: Context): Promise<readonly Row[]> {
  return [...(await firstResponseRows(context)), await callRow(context), await memoryRow(context)];
}

async function firstResponseRows({ dist, against }: Context): Promise<readonly Row[]> {
  const builds = { ours: dist, ...(against !== null && { before: against }) };
  const names = ['service', 'page'] as const;
  const times = { bare: [] as number[], ...Object.fromEntries(Object.keys(builds).map((name) => [name, []])) };
  const walls: Readonly<Record<(typeof names)[number], Readonly<Record<string, number[]>>>> = {
    service: structuredClone(times),
    page: structuredClone(times),
  };
  for (let round = -2; round < rounds; round++) {
    for (const name of names) {
      const keep = (who: string, ms: number) => round >= 0 && walls[name][who]?.push(ms);
      keep('bare', await timeBare());
      for (const [who, folder] of Object.entries(builds)) keep(who, await timeSandbox(folder, send[name]));
    }
  }
  return names.map((name) => {
    const outcomes: Readonly<Record<string, Outcome>> = Object.fromEntries(
      Object.entries(walls[name]).map(([who, wall]) => [who, { figures: { wall } }]),
    );
    return {
      what: `sandbox: elapsed time from the start to the first ${name === 'service' ? 'link' : 'page of the console'}`,
      unit: "× node -e ''",
      figures: ratios(outcomes, 'wall'),
      ...(name === 'service' && { aims: [{ bound: 4 }] }),
      note: `node -e '': ${rounded(valueIn(medians(outcomes, 'wall').bare))} ms`,
    };
  });
}

async function timeBare(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ['-e', ''], { stdio: 'ignore' }), 'exit');
  return performance.now() - startedAt;
}

interface Facts {
  readonly origin: string;
  readonly partnerId: string;
  readonly apiKeys: { readonly sandbox: string };
}

/** Returns the time from the start of the command to the end of its first response, in ms. */
async function timeSandbox(dist: string, sendFirst: (facts: Facts) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  const args = [join(dist, 'cli/index.js'), 'sandbox', '--json', '--port', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
    await sendFirst(JSON.parse(line) as Facts);
    return performance.now() - startedAt;
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

const send = {
  service({ origin, partnerId, apiKeys }: Facts) {
    const timestamp = new Date().toISOString();
    const signature = createHmac('sha256', apiKeys.sandbox).update(`${timestamp}${partnerId}sid_request`);
    const body = {
      partner_id: partnerId,
      timestamp,
      signature: signature.digest('base64'),
      company_name: 'A',
      data_privacy_policy_url: 'https://partner.example/privacy',
    };
    return sendOne(`${origin}/sandbox/v1/hosted_links`, 'POST', JSON.stringify(body));
  },
  page: ({ origin }: Facts) => sendOne(origin, 'GET', ''),
};

/** Sends with node:http, because loading fetch would add to the measured time. */
async function sendOne(url: string, method: string, body: string): Promise<void> {
  const sent = request(url, { method, agent: false }).end(body);
  const [response] = await once(sent, 'response');
  const found = await text(response);
  if (response.statusCode !== 200) throw new Error(`The sandbox responded with ${response.statusCode}: ${found}`);
}

async function callRow(context: Context): Promise<Row> {
  const participants = participantsOf(['kit', 'ours'], context);
  const settings = () => ({ times: 1_000, measures: 'wall' as const });
  const outcomes = await takeTurns({ block: 'sandbox', participants, settings, rounds, warmUps: 2 });
  return {
    what: 'sandbox: elapsed time of a call over loopback',
    unit: '× the testing kit in memory',
    figures: ratios(outcomes, 'wall', 'kit'),
    aims: [{ bound: 6 }],
    note: `in memory: ${rounded(valueIn(medians(outcomes, 'wall').kit))} µs`,
  };
}

/** Measures how much the memory grows from 15,000 to 30,000 requests, not counting the warm-up. */
async function memoryRow(context: Context): Promise<Row> {
  const participants = participantsOf(['ours'], context);
  const settings = () => ({ times: 15_000, measures: 'memory' as const });
  const outcomes = await takeTurns({ block: 'sandbox', participants, settings, rounds: 2 });
  const grown = (name: string) =>
    eachFigure(outcomes, (figures) => {
      const [first = Number.NaN, second = Number.NaN] = figures[name] ?? [];
      return { value: (second - first) / megabyte };
    });
  return {
    what: 'sandbox: growth of the heap from 15,000 to 30,000 requests',
    unit: 'MB',
    figures: grown('heap'),
    aims: [{ bound: 40 }],
    note: `growth of the resident memory: ${rounded(valueIn(grown('resident').ours))} MB`,
  };
}
