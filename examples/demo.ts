/**
 * One story from a link to a verified result, on a service that lives in this process: no account,
 * no network. Run it with `npm run demo`.
 */

import { stdout } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
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

sandbox.links.seed(24);
const page = await step('List links', () => client.links.list());
tell(`page ${page.meta.currentPage} of ${page.meta.totalPages}, ${page.links.length} of ${page.meta.totalCount} links`);

const job = sandbox.jobs.start({ linkRefId: link.refId });
tell('the end user opens the link: a job starts');

const pending = await step('Ask for its status', () => client.jobs.status(job));
tell(`${pending.state}: "${pending.message}"`);

sandbox.jobs.complete(job, 'approved');
tell('the service comes to a result');

const completed = await step('Ask again, with history', () => client.jobs.status({ ...job, history: true }));
tell(
  `${completed.state}: "${completed.result?.resultText}", confidence ${completed.result?.confidence}, signed ${completed.signedAt?.toISOString()}`,
);

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

async function step<T>(what: string, run: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const working = new AbortController();
  const progress = stdout.isTTY ? spin(what, working.signal) : undefined;
  try {
    const value = await run();
    working.abort();
    await progress;
    stdout.write(`  ${styleText('green', '✓')} ${what} ${styleText('dim', elapsed(startedAt))}\n`);
    return value;
  } finally {
    working.abort();
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

// On a terminal a line shows that something is under way; in a file there would only be its traces.
async function spin(what: string, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    stdout.write(`\r  ${'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'.charAt(turn % 10)} ${what}`);
    await pause(80, undefined, { signal }).catch(() => undefined);
  }
  stdout.write('\r\u001b[2K');
}

function elapsed(startedAt: number): string {
  return `${Math.round(performance.now() - startedAt)} ms`;
}

function idTypesOf({ idTypes }: { idTypes: readonly { country: string; idType: string }[] }): string {
  return idTypes.map(({ country, idType }) => `${country} ${idType}`).join(', ');
}
