/**
 * `sandbox`: runs a simulation of the service on this machine.
 *
 * @module
 */

import { HostedConfigError, type WireOptions } from '../../index.js';
import type { SandboxCallback, SandboxOptions, SandboxRequest } from '../../sandbox/index.js';
import { findNetworkAddress, isAnyAddress } from '../../sandbox/network-address.js';
import { findShell, type Shell, shells, writeVariables } from '../../sandbox/variables.js';
import { type Arguments, type Flag, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { exitCodes, untilAborted } from '../context.js';
import { RefusedError } from '../failures.js';
import { writeJsonLine, writeLine } from '../output.js';

/** The option that each flag sets. */
const optionsByFlag = {
  port: 'port',
  host: 'host',
  seed: 'seed',
  spelling: 'spelling',
  'first-page': 'firstPage',
  latency: 'latencyMs',
  'failure-rate': 'failureRate',
  'callback-url': 'defaultCallbackUrl',
  'allow-callbacks': 'callbackHosts',
  'callback-bytes': 'callbackBytes',
  folder: 'folder',
  'allow-host': 'allowedHosts',
  'link-base-url': 'linkBaseUrl',
  brand: 'wire.brand',
  'list-marker': 'wire.listMarker',
  'timestamp-format': 'wire.timestampFormat',
  'job-timestamp-format': 'wire.jobTimestampFormat',
  'job-signature-member': 'wire.jobSignatureMember',
  'job-flags': 'wire.jobFlags',
  'echoes-timestamp': 'wire.echoesTimestamp',
} as const satisfies Record<string, keyof SandboxOptions | `wire.${keyof WireOptions}`>;

/**
 * A problem with one of these options, such as a port in use, comes from this machine, not from a wrong command line.
 */
const ofThisMachine = ['port', 'host', 'folder'];

export const sandboxCommand: Command = {
  name: 'sandbox',
  about:
    'run a simulation of the service on this machine, with callbacks, a console, and the pages that end users open',
  positionals: [],
  flags: {
    port: {
      value: 'N',
      about: 'the port; default 4085, and 0 takes any free port',
      kind: 'integer',
      min: 0,
      max: 65_535,
    },
    host: {
      value: 'HOST',
      about:
        'the address to listen on; default 127.0.0.1; with 0.0.0.0 (all addresses of this machine), anyone on the network can use the sandbox',
    },
    'allow-host': {
      value: 'HOST',
      about: 'another name, with or without a port, by which requests may name the sandbox; repeat the flag for more',
      isList: true,
    },
    'link-base-url': {
      value: 'URL',
      about: 'the beginning of the URL of every link, for end users on other machines',
      kind: 'url',
    },
    seed: {
      value: 'N',
      about: 'with the same seed, the same requests give the same ids; default: another one at each start',
      kind: 'integer',
    },
    spelling: {
      value: 'table|sample|random',
      about: "the spelling of fields in responses: as in the protocol's field tables, as in its samples, or at random",
      choices: ['table', 'sample', 'random'],
    },
    'first-page': { value: '0|1', about: 'the number of the first page of a list', choices: ['0', '1'] },
    latency: { value: 'MS', about: 'how long each response takes', kind: 'integer', min: 0, max: 2_147_483_647 },
    'failure-rate': { value: 'P', about: 'the share of requests that get status 503', kind: 'number', min: 0, max: 1 },
    'callback-url': {
      value: 'URL',
      about: 'if a link has no callback URL, its results are posted to this URL',
      kind: 'endpoint',
    },
    'allow-callbacks': {
      value: 'HOST',
      about: 'another host that callbacks may be posted to; repeat the flag for more hosts',
      isList: true,
    },
    'callback-bytes': {
      value: 'N',
      about: 'the size of callbacks that have pictures in reality; default 1500000',
      kind: 'integer',
      min: 0,
    },
    shell: {
      value: shells.join('|'),
      about: 'what to write the variables for: a shell, or an .env file; default: the shell of this terminal',
      choices: shells,
    },
    folder: { value: 'DIR', about: 'the folder for links, jobs and callbacks; default: only in memory' },
    brand: { value: 'WORD', about: 'the brand word in paths and field names; default hosted' },
    'list-marker': { value: 'WORD', about: 'the last part of the path that lists links; default list' },
    'timestamp-format': formatFlag('link operations'),
    'job-timestamp-format': formatFlag('job status'),
    'job-signature-member': {
      value: 'sec_key|signature',
      about: 'the field with the signature of a job status request; default sec_key',
      choices: ['sec_key', 'signature'],
    },
    'job-flags': {
      value: 'boolean|string',
      about: 'how the fields image_links and history are written in requests; default boolean',
      choices: ['boolean', 'string'],
    },
    'echoes-timestamp': { about: 'sign each job status with the timestamp of its request' },
  },
  async run(given, context) {
    const isJson = given.isSet('json');
    const stream = isJson ? context.stderr : context.stdout;
    const show = (text: string, isFailed: boolean) => writeLine(stream, text, isFailed ? 'red' : undefined);
    const sandbox = await start(given, {
      onRequest(request) {
        show(describeRequest(request), request.reason !== null);
        for (const note of request.notes) writeLine(stream, `  note: ${note}`, 'yellow');
      },
      onCallback: (callback) => show(describeCallback(callback), callback.attempts.at(-1)?.problem !== null),
    });
    try {
      const { origin, baseUrls } = sandbox;
      const { partnerId, wire } = sandbox.clientOptions();
      const apiKeys = { sandbox: keyOf(sandbox, 'sandbox'), production: keyOf(sandbox, 'production') };
      const facts = { origin, baseUrls, partnerId, apiKeys, ...(wire && { wire }) };
      const networkAddress = isAnyAddress(given.text('host') ?? '') ? findNetworkAddress() : null;
      if (isJson) writeJsonLine(context, facts);
      else {
        const shell = findChosenShell(given) ?? findShell(context.env);
        context.stdout.write(describe({ ...facts, networkAddress, shell }));
      }
      await untilAborted(context.signal);
    } finally {
      await sandbox.stop();
    }
    return exitCodes.interrupted;
  },
};

function formatFlag(of: string): Flag {
  return {
    value: 'iso|epoch-ms|epoch-s',
    about: `how requests of ${of} write their timestamp; default iso`,
    choices: ['iso', 'epoch-ms', 'epoch-s'],
  };
}

async function start(given: Arguments, listeners: Pick<SandboxOptions, 'onRequest' | 'onCallback'>) {
  const { startSandbox } = await import('../../sandbox/index.js');
  try {
    return await startSandbox({ ...readOptions(given), ...listeners });
  } catch (error) {
    throw error instanceof HostedConfigError ? toFlags(error) : error;
  }
}

function readOptions(given: Arguments): SandboxOptions {
  const read = (flag: string) => {
    if (flag === 'allow-callbacks' || flag === 'allow-host') return given.list(flag);
    if (flag === 'echoes-timestamp') return given.isSet(flag) || undefined;
    return ['port', 'seed', 'first-page', 'latency', 'failure-rate', 'callback-bytes'].includes(flag)
      ? given.number(flag)
      : given.text(flag);
  };
  const entries = Object.entries(optionsByFlag)
    .map(([flag, option]) => [option, read(flag)] as const)
    .filter(([, value]) => value !== undefined);
  const wire = entries.flatMap(([option, value]) => (option.startsWith('wire.') ? [[option.slice(5), value]] : []));
  const others = entries.filter(([option]) => !option.startsWith('wire.'));
  return { ...Object.fromEntries(others), ...(wire.length > 0 && { wire: Object.fromEntries(wire) }) };
}

/** Creates an error that lists the same problems, but names flags in place of options. */
function toFlags({ issues }: HostedConfigError): Error {
  const flagOf = (path: string) => {
    const [option = ''] = path.split('[');
    const flag = Object.entries(optionsByFlag).find(([, each]) => each === option)?.[0];
    return flag === undefined ? `"${path}"` : `--${flag}`;
  };
  const text = `Cannot start the sandbox: ${issues.map(({ path, message }) => `${flagOf(path)} ${message}`).join('; ')}`;
  return issues.every(({ path }) => ofThisMachine.includes(path)) ? new RefusedError(text) : new UsageError(text);
}

type Started = Awaited<ReturnType<typeof start>>;
type EnvironmentName = 'sandbox' | 'production';

function keyOf(sandbox: Started, environment: EnvironmentName): string {
  return sandbox.clientOptions(environment).apiKey ?? '';
}

interface Facts {
  readonly origin: string;
  readonly baseUrls: Readonly<Record<EnvironmentName, string>>;
  readonly partnerId: string;
  readonly apiKeys: Readonly<Record<EnvironmentName, string>>;
  readonly wire?: WireOptions;
  /** The address at which other machines reach the sandbox; null if they cannot. */
  readonly networkAddress: string | null;
  readonly shell: Shell;
}

function findChosenShell(given: Arguments): Shell | undefined {
  return shells.find((each) => each === given.text('shell'));
}

function describe({ origin, baseUrls, partnerId, apiKeys, wire, networkAddress, shell }: Facts): string {
  const elsewhere = networkAddress && `On other machines: http://${networkAddress}:${new URL(origin).port}\n`;
  const option = wire && `Clients need the option "wire": ${JSON.stringify(wire)}\n`;
  return `The sandbox and its console: ${origin}
${elsewhere ?? ''}It is a simulation: it checks no identity, and its keys are test keys.

${writeVariables({ partnerId, apiKey: apiKeys.sandbox, baseUrls }, shell)}

${option ?? ''}The key of the production environment: ${apiKeys.production}
Ctrl+C stops it.

`;
}

function describeRequest(request: SandboxRequest): string {
  const { id, at, environment, operation, method, path, linkRefId, job, status, durationMs, reason } = request;
  const ids = `${linkRefId === null ? '' : ` link ${linkRefId}`}${job === null ? '' : ` job ${job.jobId}`}`;
  const result = `${status === 0 ? 'no response' : status} ${Math.round(durationMs)} ms`;
  const what = `${environment} ${operation ?? `${method} ${path}`}${ids}`;
  return `${timeOf(at)} request ${id} ${what} ${result}${reason === null ? '' : `: ${reason}`}`;
}

function describeCallback({ id, job, variant, copyOf, attempts, nextAttemptAt }: SandboxCallback): string {
  const { at, status = null, problem = null } = attempts.at(-1) ?? {};
  const seconds = nextAttemptAt && Math.round((nextAttemptAt.getTime() - Date.now()) / 1_000);
  const what = `callback ${id}${copyOf === null ? '' : ` (copy of ${copyOf}${variant === null ? '' : `, ${variant}`})`}`;
  const next = seconds === null ? '' : `, next in ${seconds} s`;
  return `${timeOf(at ?? new Date())} ${what} job ${job.jobId} → ${status ?? 'no response'}${next}${problem === null ? '' : `: ${problem}`}`;
}

/** The local time. */
function timeOf(at: Date): string {
  return at.toTimeString().slice(0, 8);
}
