/**
 * Measures the time and memory that the client needs to reject a response of 8 MiB with invalid lists, compared
 * with `JSON.parse` of the same text. Run it with `npm run bench:refusing`; the name of a case after the command
 * runs only that case.
 *
 * Time is CPU time. The client, `JSON.parse` and a bare call take turns in one process; the bare call reads and
 * parses the same body. Memory is the peak of a fresh process, minus the peak of a process that makes only a small
 * call.
 */

import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { HostedClient } from 'hosted-client';
import { type Line, printLines } from './report/print.ts';
import { apiKey, job, partnerId } from './service/fixtures.ts';
import { median, rounded } from './statistics.ts';

const bytesOfBody = 8 * 1024 * 1024;
const rounds = 7;

/** A response with a list that repeats one entry. */
interface Case {
  readonly before: string;
  readonly entry: string;
  readonly after: string;
  readonly call: (client: HostedClient) => Promise<unknown>;
}

const longString = `"${'x'.repeat(1_000)}"`;
const meta = '"meta":{"currentPage":1,"limit":20,"totalCount":1,"totalPages":1}';
const link = '"link_url":"https://links.hosted.test/1","ref_id":"ref-1"';
/** A link whose values all have unusual spellings. */
const unusualLink = {
  link: 'https://links.hosted.test/1',
  link_id: 1,
  ref_id: 1,
  name: 'Link 1',
  id_types: [{ country: 'NG', id_type: 'PASSPORT', verification_method: 'doc_verification' }],
  is_single_use: 'true',
  callback_url: 'https://partner.hosted.test/callbacks',
  data_privacy_policy_url: 'https://partner.hosted.test/privacy',
  logo_url: 'https://partner.hosted.test/logo.png',
  user_ids: 'user-1',
  total_jobs: '3',
  failed_jobs: '1.0',
  successful_jobs: '2',
  company_name: 'Example Ltd',
  partner_id: 85,
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
  expires_at: '2026-04-02T03:04:05.678Z',
  // This makes each link larger: the client rejects a page with more than 10,000 links before it checks them.
  flow: 'x'.repeat(400),
};
const result = {
  ResultCode: '0810',
  ResultText: 'Enroll User',
  ResultType: 'SAIA',
  HostedJobID: '0000001897',
  JSONVersion: '1.0.0',
  IsFinalResult: 'true',
  IsMachineResult: 'true',
  ConfidenceValue: '99.99',
  PartnerParams: { job_id: job.jobId, user_id: job.userId, job_type: 4 },
  Actions: { Liveness_Check: 'Passed', Register_Selfie: 'Approved', Verify_Document: 'Passed' },
  more: 'x'.repeat(500),
};
const list = (client: HostedClient) => client.links.list();
const get = (client: HostedClient) => client.links.get('ref-1');
const status = (client: HostedClient) => client.jobs.status({ ...job, history: true });

function linksOf(entry: string): Case {
  return { before: '{"links":[', entry, after: `],${meta}}`, call: list };
}

function linksThenWrong(entry: string): Case {
  return { before: '{"links":[', entry, after: `,{${link},"name":5}],${meta}}`, call: list };
}

function linkWith(member: string, entry: string): Case {
  return { before: `{${link},"${member}":[`, entry, after: ']}', call: get };
}

function statusWith(before: string, entry: string, after: string): Case {
  const timestamp = new Date().toISOString();
  const signature = createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64');
  const signed = `"timestamp":"${timestamp}","sec_key":"${signature}","job_complete":true,"job_success":true`;
  return { before: `{${signed},${before}[`, entry, after: `]${after}}`, call: status };
}

/** The cases by name. Each case is created when it runs, because a status is signed with the current time. */
const cases: Readonly<Record<string, () => Case>> = {
  'links that are numbers': () => linksOf('1'),
  'links that are empty objects': () => linksOf('{}'),
  'links that are null': () => linksOf('null'),
  'links that are strings': () => linksOf('"x"'),
  'links that are lists': () => linksOf('[]'),
  'links that are long strings': () => linksOf(longString),
  'links with a wrong name': () => linksOf(`{${link},"name":5,"flow":"${'x'.repeat(900)}"}`),
  'links in an unusual spelling, the last one wrong': () => linksThenWrong(JSON.stringify(unusualLink)),
  'links with a "__proto__", the last one wrong': () =>
    linksThenWrong(`{${link},"__proto__":{},"flow":"${'x'.repeat(900)}"}`),
  'a page with one link, whose ID types are numbers': () => ({
    before: `{"links":[{${link},"id_types":[`,
    entry: '1',
    after: `]}],${meta}}`,
    call: list,
  }),
  'a "meta" that is a list': () => ({ before: '{"links":[],"meta":[', entry: '1', after: ']}', call: list }),
  'ID types that are numbers': () => linkWith('id_types', '1'),
  'ID types that are empty objects': () => linkWith('id_types', '{}'),
  'ID types with a wrong country': () => linkWith('id_types', '{"country":5}'),
  'users that are fractions': () => linkWith('user_ids', '1.5'),
  'users that are empty objects': () => linkWith('user_ids', '{}'),
  'ID types that are long strings': () => linkWith('id_types', longString),
  'a history of numbers': () => statusWith('"history":', '1', ''),
  'a history of long strings': () => statusWith('"history":', longString, ''),
  'a history of empty objects': () => statusWith('"history":', '{}', ''),
  'a history of wrong results': () => statusWith('"history":', '{"ResultText":5}', ''),
  'a history of results, the last one wrong': () => ({
    ...statusWith('"history":', JSON.stringify(result), ''),
    after: ',{"ResultText":5}]}',
  }),
  'a result that is a list': () => statusWith('"result":', '1', ''),
  'actions that are a list': () => statusWith('"result":{"Actions":', '1', '}'),
  'partner params that are a list': () => statusWith('"result":{"PartnerParams":', '1', '}'),
  'image links that are a list': () => statusWith('"image_links":', '{}', ''),
  'a history with one result, whose actions are a list': () => statusWith('"history":[{"Actions":', '1', '}]'),
};

const modes = ['time', 'idle', 'parse', 'call'] as const;

const [first = '', name = ''] = process.argv.slice(2);
const mode = modes.find((known) => known === first);
if (mode) console.log(JSON.stringify(await runCase(mode, name)));
else runAll(first);

function runAll(only: string): void {
  const rows: Line[] = [];
  for (const title of Object.keys(cases).filter((each) => only === '' || each === only)) {
    const { parse, bare, call } = runChild('time', title) as Times;
    const [idle, parsing, calling] = (['idle', 'parse', 'call'] as const).map(
      (which) => runChild(which, title) as number,
    );
    const [above, aboveCalling] = [(parsing ?? 0) - (idle ?? 0), (calling ?? 0) - (idle ?? 0)];
    rows.push(
      {
        what: `rejecting ${title}, CPU time`,
        unit: '× JSON.parse',
        ours: rounded(call / parse),
        aim: 2,
        note: `client ${rounded(call)} ms, JSON.parse ${rounded(parse)} ms; ${rounded(call / bare)} × a bare call (${rounded(bare)} ms)`,
      },
      {
        what: `rejecting ${title}, memory`,
        unit: '× JSON.parse',
        ours: rounded(aboveCalling / above),
        aim: 1.5,
        note: `client ${rounded(aboveCalling)} MB, JSON.parse ${rounded(above)} MB; both without the ${rounded(idle ?? 0)} MB of a small call`,
      },
    );
  }
  printLines(rows);
}

function runChild(which: (typeof modes)[number], title: string): unknown {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), which, title];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`"${title}" failed: ${stderr}`);
  return JSON.parse(stdout);
}

async function runCase(which: (typeof modes)[number], title: string): Promise<unknown> {
  const made = cases[title]?.();
  if (made === undefined) throw new Error(`There is no case "${title}"`);
  const bytes = bytesOf(made);
  // Modules that load with the first call do not count, so a first call loads them here.
  await refused(linksOf('1'), Buffer.from(`{"links":[1],${meta}}`));
  if (which === 'parse') JSON.parse(bytes.toString());
  if (which === 'call') await refused(made, bytes);
  if (which !== 'time') return process.resourceUsage().maxRSS / 1024;
  const text = bytes.toString();
  const times = { parse: [] as number[], bare: [] as number[], call: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.parse.push(await timeOf(() => JSON.parse(text)));
    times.bare.push(await timeOf(async () => JSON.parse(await new Response(bodyOf(bytes)).text())));
    times.call.push(await timeOf(() => refused(made, bytes)));
  }
  return { parse: median(times.parse), bare: median(times.bare), call: median(times.call) } satisfies Times;
}

/** The CPU times of `JSON.parse`, of a bare call and of the client's call, in ms. */
type Times = Readonly<Record<'parse' | 'bare' | 'call', number>>;

async function timeOf(work: () => unknown): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Runs the call, and asserts that the client rejects the response with a short error. */
async function refused(made: Case, bytes: Uint8Array): Promise<void> {
  const client = new HostedClient({
    partnerId,
    apiKey,
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: (async () => new Response(bodyOf(bytes))) as typeof globalThis.fetch,
  });
  const error: unknown = await made.call(client).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const { code, issues = [], message } = (error ?? {}) as { code?: string; issues?: unknown[]; message?: string };
  if (code !== 'response') throw new Error(`The client must reject ${made.before}…, got ${code ?? String(error)}`);
  if (issues.length > 20 || (message ?? '').length > 2_000)
    throw new Error(`The error is too long: it has ${issues.length} issues`);
}

/** Writes the response into memory outside the heap, with as many entries as fit into 8 MiB. */
function bytesOf({ before, entry, after }: Case): Buffer {
  const count = Math.floor((bytesOfBody - before.length - after.length - entry.length) / (entry.length + 1));
  const body = Buffer.alloc(before.length + count * (entry.length + 1) + entry.length + after.length, `${entry},`);
  body.copy(body, before.length, 0, body.length - before.length - after.length);
  body.write(before);
  body.write(after, body.length - after.length);
  return body;
}

/** Streams the body in chunks of 64 KiB, like a network. */
function bodyOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + 65_536));
      else controller.close();
      at += 65_536;
    },
  });
}
