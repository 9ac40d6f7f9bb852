/** Measures processes that import a package and make a first call, as multiples of a process with only bare fetch. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { medians, type Row, ratios, valueIn } from '../row.ts';
import { apiKey, job, partnerId, paths } from '../service/fixtures.ts';
import { rounded } from '../statistics.ts';
import type { Outcome } from '../turns.ts';
import { type Context, peersFolder, withServer } from './context.ts';

const rounds = 25;

export async function startUpRows(context: Context): Promise<readonly Row[]> {
  const calls = await withServer({}, (url) => timePrograms(firstCalls(url, context)));
  const imports = await timePrograms(onlyImports(context));
  const idle = valueIn(medians(imports, 'wall').bare);
  const over = Object.entries(medians(imports, 'wall')).filter(([name]) => name !== 'bare');
  const note = (name: string) => `bare: ${rounded(valueIn(medians(calls, name).bare))} ms`;
  const what = 'import and first call';
  const unit = '× bare fetch';
  return [
    {
      what,
      unit,
      figures: ratios(calls, 'cpu'),
      aims: [{ bound: 1.2 }],
      beyond: { bound: 1.15 },
      note: note('cpu'),
      isCharted: true,
    },
    { what: `${what}, elapsed time`, unit, figures: ratios(calls, 'wall'), note: note('wall') },
    {
      what: 'import alone, elapsed time',
      unit: 'ms more than a process without imports',
      figures: Object.fromEntries(over.map(([name, figure]) => [name, { value: valueIn(figure) - idle }])),
      note: `process without imports: ${rounded(idle)} ms`,
    },
  ];
}

/** Returns programs that make a first call. In each program, `value` is the parsed or decoded response. */
function firstCalls(url: string, { dist, against }: Context): Readonly<Record<string, string>> {
  const body = JSON.stringify({ partner_id: partnerId, user_id: job.userId, job_id: job.jobId });
  const { hostname, port } = new URL(url);
  const endpoint = `${url}${paths.status}`;
  const build = (folder: string) => `
    import { HostedClient } from ${JSON.stringify(entryOf(folder))};
    const client = new HostedClient({ partnerId: '${partnerId}', apiKey: '${apiKey}', baseUrls: { sandbox: '${url}' } });
    const value = await client.jobs.status(${JSON.stringify(job)});`;
  return {
    bare: `const value = JSON.parse(await (await fetch('${endpoint}', { method: 'POST', body: '${body}' })).text());`,
    ky: `import ky from 'ky';
      const value = await ky.post('${endpoint}', { json: ${body} }).json();`,
    stripe: `import Stripe from 'stripe';
      const stripe = new Stripe('sk', { host: '${hostname}', port: ${port}, protocol: 'http' });
      const value = await stripe.rawRequest('POST', '${paths.status}', ${body});`,
    openai: `import OpenAI from 'openai';
      const value = await new OpenAI({ apiKey: 'k', baseURL: '${url}' }).post('${paths.status}', { body: ${body} });`,
    axios: `import axios from 'axios';
      const value = (await axios.post('${endpoint}', ${body})).data;`,
    ours: build(dist),
    ...(against !== null && { before: build(against) }),
  };
}

function onlyImports({ dist, against }: Context): Readonly<Record<string, string>> {
  const done = 'const value = { complete: true };';
  const peers = ['ky', 'stripe', 'openai', 'axios'];
  return {
    bare: done,
    ...Object.fromEntries(peers.map((name) => [name, `import '${name}'; ${done}`])),
    ours: `import ${JSON.stringify(entryOf(dist))}; ${done}`,
    ...(against !== null && { before: `import ${JSON.stringify(entryOf(against))}; ${done}` }),
  };
}

function entryOf(folder: string): string {
  return pathToFileURL(join(folder, 'index.js')).href;
}

/** Starts all programs one after the other in every round, and returns the times of whole processes, in ms. */
async function timePrograms(programs: Readonly<Record<string, string>>): Promise<Readonly<Record<string, Outcome>>> {
  const outcomes = Object.fromEntries(
    Object.keys(programs).map((name) => [name, { figures: { wall: [] as number[], cpu: [] as number[] }, failed: '' }]),
  );
  for (let round = -2; round < rounds; round++) {
    for (const [name, program] of Object.entries(programs)) {
      const outcome = outcomes[name];
      if (!outcome || outcome.failed) continue;
      try {
        const { wall, cpu } = await runProgram(program);
        if (round < 0) continue;
        outcome.figures.wall.push(wall);
        outcome.figures.cpu.push(cpu);
      } catch (error) {
        outcome.failed = String(error);
        console.error(`${name} FAILED: ${error}`);
      }
    }
  }
  return Object.fromEntries(
    Object.entries(outcomes).map(([name, { figures, failed }]) => [name, failed ? { failed } : { figures }]),
  );
}

const ending = `
  if ((value.job_complete ?? value.complete) !== true) throw new Error('The value is not the one expected');
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    process.stdout.write(String((user + system) / 1000));
  });`;

async function runProgram(program: string): Promise<{ wall: number; cpu: number }> {
  const startedAt = performance.now();
  const args = ['--input-type=module', '--eval', program + ending];
  // Node resolves packages from the working directory of the process.
  const child = spawn(process.execPath, args, { cwd: peersFolder, stdio: ['ignore', 'pipe', 'inherit'] });
  const [cpu, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`A program ended with ${code}`);
  return { wall: performance.now() - startedAt, cpu: Number(cpu) };
}
