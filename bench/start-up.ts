/**
 * What it takes to begin: importing alone, over a bare process, and importing with a first call on
 * loopback, beside a bare first `fetch`. Each in processes of its own, one after the other in turn.
 */

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { median, report, rounded } from './report.ts';
import { apiKey, job, partnerId } from './service.ts';

const rounds = 15;

const server = fork(new URL('server.ts', import.meta.url));
const [port] = (await once(server, 'message')) as [number];
const address = `http://127.0.0.1:${port}`;
const peers = new URL('peers/peers.js', import.meta.url).href;
const entry = new URL('../dist/index.js', import.meta.url).href;

const imports: Readonly<Record<string, string>> = {
  bare: '',
  ours: `import ${JSON.stringify(entry)};`,
  ...Object.fromEntries(['ky', 'stripe', 'openai', 'axios'].map((name) => [name, `import '${name}';`])),
};
const body = JSON.stringify({ partner_id: partnerId, user_id: job.userId, job_id: job.jobId });
const firstCalls: Readonly<Record<string, string>> = {
  bare: `JSON.parse(await (await fetch('${address}/v1/job_status', { method: 'POST', body: '${body}' })).text());`,
  ours: `import { HostedClient } from ${JSON.stringify(entry)};
    const client = new HostedClient({ partnerId: '${partnerId}', apiKey: '${apiKey}', baseUrls: { sandbox: '${address}' } });
    await client.jobs.status(${JSON.stringify(job)});`,
  ky: `import ky from 'ky';
    await ky.post('${address}/v1/job_status', { json: ${body} }).json();`,
  stripe: `import Stripe from 'stripe';
    const stripe = new Stripe('sk', { host: '127.0.0.1', port: ${port}, protocol: 'http' });
    await stripe.rawRequest('POST', '/v1/job_status', ${body});`,
  openai: `import OpenAI from 'openai';
    await new OpenAI({ apiKey: 'k', baseURL: '${address}' }).post('/v1/job_status', { body: ${body} });`,
  axios: `import axios from 'axios';
    await axios.post('${address}/v1/job_status', ${body});`,
};

const importing = await took(imports);
const calling = await took(firstCalls);
server.disconnect();

const { bare: idle = 0, ours: imported = 0, ...importedOthers } = importing;
const { bare: fetched = 0, ours: called = 0, ...calledOthers } = calling;
report([
  {
    what: 'import',
    unit: 'ms over a bare process',
    ours: rounded(imported - idle),
    aim: 60,
    others: each(importedOthers, (ms) => ms - idle),
    note: `bare process: ${rounded(idle)} ms`,
  },
  {
    what: 'import and first call, loopback',
    unit: '× bare fetch',
    ours: rounded(called / fetched),
    aim: 1.4,
    others: each(calledOthers, (ms) => ms / fetched),
    note: `bare fetch: ${rounded(fetched)} ms`,
  },
]);

/** Median milliseconds of a process that runs each of these. */
async function took(programs: Readonly<Record<string, string>>): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, program] of Object.entries(programs)) {
      const ms = await run(program);
      // The first round is for the disk.
      if (round >= 0) found[name] = [...(found[name] ?? []), ms];
    }
  }
  return each(found, median);
}

async function run(program: string): Promise<number> {
  const startedAt = performance.now();
  const args = ['--input-type=module', '--eval', program];
  // Packages are looked for from where the process runs.
  const child = spawn(process.execPath, args, { cwd: new URL('.', peers), stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`A program ended with ${code}: ${program}`);
  return performance.now() - startedAt;
}

function each<T>(values: Readonly<Record<string, T>>, change: (value: T) => number): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, rounded(change(value))]));
}
