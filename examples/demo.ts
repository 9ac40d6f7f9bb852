/**
 * Shows every step from a new link to a verified result, with an in-memory service: it needs no account and no
 * network. Run it with `npm run demo`.
 */

import { stdout } from 'node:process';
import { styleText } from 'node:util';
import { HostedAuthenticationError, HostedClient, HostedNotFoundError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';

const service = createMockService({ latencyMs: 150 });
const { sandbox, production } = service;
const client = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch });

heading(`Sandbox, ${sandbox.baseUrl}`);

const created = await step('Create a link', () =>
  client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://partner.hosted.test/privacy',
    callbackUrl: 'https://partner.hosted.test/callbacks',
    name: 'Account opening',
    idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
    isSingleUse: true,
  }),
);
tell(`give ${created.url} to the end user`);

const link = await step('Fetch it', () => client.links.get(created.refId));
tell(`"${link.name}" is ${link.state} and takes ${idTypesOf(link)}`);

const changed = await step('Add an ID type', () =>
  client.links.update(link.refId, {
    idTypes: [...link.idTypes, { country: 'GH', idType: 'VOTER_ID', verificationMethod: 'biometric_kyc' }],
  }),
);
tell(`it now takes ${idTypesOf(changed)}`);

sandbox.links.seed(64);
const count = await step('List every link', async (progress) => {
  let links = 0;
  for await (const page of client.links.list({ prefetch: 2 }).pages()) {
    links += page.links.length;
    progress(`page ${page.meta.currentPage} of ${page.meta.totalPages}, ${links} of ${page.meta.totalCount} links`);
  }
  return links;
});
tell(`${count} links`);

const job = sandbox.jobs.start({ linkRefId: link.refId });
tell('the end user opens the link: a job starts');

const pending = await step('Ask for its status', () => client.jobs.status(job));
tell(`${pending.state}: "${pending.message}"`);

setTimeout(() => sandbox.jobs.complete(job, 'approved'), 2_000);
const completed = await step('Wait for its completion', (progress) =>
  client.jobs.waitForCompletion(job, {
    minDelayMs: 300,
    history: true,
    onPoll: ({ attempt, elapsedMs, nextDelayMs, status }) => {
      const next = nextDelayMs === null ? 'done' : `next poll in ${nextDelayMs} ms`;
      progress(`poll ${attempt} after ${elapsedMs} ms: ${status?.state ?? 'no answer'}, ${next}`);
    },
  }),
);
tell(
  `${completed.state}: "${completed.result?.resultText}", confidence ${completed.result?.confidence}, signed ${completed.signedAt?.toISOString()}`,
);

const received: string[] = [];
const handle = client.callbacks.handler({
  onEvent: ({ linkId }, { state }) => {
    received.push(`onEvent: the job is ${state}, and its link is ${linkId === link.refId ? 'ours' : 'another one'}`);
  },
  onError: (_error, { phase }) => {
    received.push(`onError: it failed to ${phase}`);
  },
});
for (const options of [{}, { variant: 'forged' }] as const) {
  const { status } = await step(`Receive a ${'variant' in options ? 'forged' : 'genuine'} callback`, () =>
    sandbox.jobs.deliverCallback(job, { to: handle, ...options }),
  );
  tell(`${status}, ${received.pop()}`);
}

const disabled = await step('Disable the link', () => client.links.disable(link.refId));
tell(`${disabled.state} since ${disabled.disabledAt?.toISOString()}`);

heading(`Production, ${production.baseUrl}`);

const live = new HostedClient({ ...production.clientOptions, fetch: service.fetch });

const absent = await refusal('Look for the same link', () => live.links.get(link.refId));
if (!(absent instanceof HostedNotFoundError)) throw absent;
tell(`${absent.name}: environments share nothing`);

const impostor = live.withOptions({ apiKey: 'not-the-key' });
const refused = await refusal('List links with a wrong key', () => impostor.links.list());
if (!(refused instanceof HostedAuthenticationError)) throw refused;
tell(`${refused.name}: ${refused.message}`);

const forged = production.jobs.start();
production.failNext('jobs.status', { kind: 'bad-signature' });
const disbelieved = await refusal('Read a status that somebody else signed', () => live.jobs.status(forged));
tell(`${disbelieved.name}: ${disbelieved.message}`);

stdout.write(`\nDone: ${sandbox.requests.length + production.requests.length} signed requests.\n`);

function heading(text: string): void {
  stdout.write(`\n${styleText('bold', text)}\n`);
}

function tell(text: string): void {
  stdout.write(`    ${text}\n`);
}

/** Runs one step, and shows a line with its progress, then a line with its result. */
async function step<T>(what: string, run: (progress: (text: string) => void) => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const line = createLine(what);
  try {
    const value = await run(line.progress);
    line.clear();
    stdout.write(`  ${styleText('green', '✓')} ${what} ${styleText('dim', elapsed(startedAt))}\n`);
    return value;
  } finally {
    line.clear();
  }
}

async function refusal(what: string, run: () => Promise<unknown>): Promise<Error> {
  return step(what, () =>
    run().then(
      () => {
        throw new Error(`"${what}" should have been refused`);
      },
      (error: unknown) => error as Error,
    ),
  );
}

// On a terminal, each progress report overwrites the line. In a file, each report is a new line.
function createLine(what: string): { progress: (text: string) => void; clear: () => void } {
  if (!stdout.isTTY) return { progress: (text) => tell(text), clear: () => undefined };
  let turn = 0;
  let text = '';
  const write = () => {
    turn += 1;
    stdout.write(`\r\u001b[2K  ${'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'.charAt(turn % 10)} ${what}${text && styleText('dim', `: ${text}`)}`);
  };
  const spinning = setInterval(write, 80);
  return {
    progress: (said) => {
      text = said;
      write();
    },
    clear: () => {
      clearInterval(spinning);
      stdout.write('\r\u001b[2K');
    },
  };
}

function elapsed(startedAt: number): string {
  return `${Math.round(performance.now() - startedAt)} ms`;
}

function idTypesOf({ idTypes }: { idTypes: readonly { country: string; idType: string }[] }): string {
  return idTypes.map(({ country, idType }) => `${country} ${idType}`).join(', ');
}
