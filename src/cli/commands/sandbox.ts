/**
 * `sandbox`: runs a simulation of the service on this machine.
 *
 * @module
 */

import { HostedConfigError, type WireOptions } from '../../index.js';
import { type Environment, forEachEnvironment } from '../../options.js';
import { maxTimerMs } from '../../runtime/clock.js';
import type { SandboxCallback, SandboxOptions, SandboxRequest } from '../../sandbox/index.js';
import { findNetworkAddress, isAnyAddress } from '../../sandbox/network-address.js';
import { findShell, furtherEnvironments, shells, writeVariables } from '../../sandbox/variables.js';
import { type Arguments, choiceFlag, type Flag, integerFlag, portFlag, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { untilAborted } from '../context.js';
import { RefusedError } from '../failures.js';
import { writeJsonLine, writeLine } from '../output.js';

/** A flag, and the option that it sets. */
interface OptionFlag extends Flag {
  readonly option: keyof SandboxOptions | `wire.${keyof WireOptions}`;
}

const optionFlags: Readonly<Record<string, OptionFlag>> = {
  port: { option: 'port', ...portFlag(4085) },
  host: {
    option: 'host',
    value: 'HOST',
    about:
      'the address to listen on; default 127.0.0.1; with 0.0.0.0 (all addresses of this machine), anyone on the network can use the sandbox',
  },
  'allow-host': {
    option: 'allowedHosts',
    value: 'HOST',
    about: 'another name, with or without a port, by which requests may name the sandbox; repeat the flag for more',
    isList: true,
  },
  'link-base-url': {
    option: 'linkBaseUrl',
    value: 'URL',
    about: 'the beginning of the URL of every link, for end users on other machines',
    kind: 'url',
  },
  seed: {
    option: 'seed',
    ...integerFlag('with the same seed, the same requests give the same ids; default: another one at each start'),
  },
  spelling: {
    option: 'spelling',
    ...choiceFlag(
      "the spelling of fields in responses: as in the protocol's field tables, as in its samples, or at random",
      ['table', 'sample', 'random'],
    ),
  },
  'first-page': {
    option: 'firstPage',
    ...integerFlag('the number of the first page of a list', { value: '0|1', min: 0, max: 1 }),
  },
  latency: {
    option: 'latencyMs',
    ...integerFlag('how long each response takes', { value: 'MS', min: 0, max: maxTimerMs }),
  },
  'failure-rate': {
    option: 'failureRate',
    value: 'P',
    about: 'the share of requests that get status 503',
    kind: 'number',
    min: 0,
    max: 1,
  },
  'callback-url': {
    option: 'defaultCallbackUrl',
    value: 'URL',
    about: 'if a link has no callback URL, its results are posted to this URL',
    kind: 'endpoint',
  },
  'allow-callbacks': {
    option: 'callbackHosts',
    value: 'HOST',
    about: 'another host that callbacks may be posted to; repeat the flag for more hosts',
    isList: true,
  },
  'callback-bytes': {
    option: 'callbackBytes',
    ...integerFlag('the size of callbacks that have pictures in reality; default 1500000', { min: 0 }),
  },
  folder: {
    option: 'folder',
    value: 'DIR',
    about: 'the folder for links, jobs and callbacks; default: only in memory',
  },
  brand: { option: 'wire.brand', value: 'WORD', about: 'the brand word in paths and field names; default hosted' },
  'list-marker': {
    option: 'wire.listMarker',
    value: 'WORD',
    about: 'the last part of the path that lists links; default list',
  },
  'timestamp-format': { option: 'wire.timestampFormat', ...formatFlag('link operations') },
  'job-timestamp-format': { option: 'wire.jobTimestampFormat', ...formatFlag('job status') },
  'job-signature-member': {
    option: 'wire.jobSignatureMember',
    ...choiceFlag('the field with the signature of a job status request; default sec_key', ['sec_key', 'signature']),
  },
  'job-flags': {
    option: 'wire.jobFlags',
    ...choiceFlag('how the fields image_links and history are written in requests; default boolean', [
      'boolean',
      'string',
    ]),
  },
  'echoes-timestamp': {
    option: 'wire.echoesTimestamp',
    about: 'sign each job status with the timestamp of its request',
  },
};

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
    ...optionFlags,
    shell: choiceFlag(
      'what to write the variables for: a shell, or an .env file; default: the shell of this terminal',
      shells,
    ),
  },
  async run(given, context) {
    const isJson = given.isSet('json');
    const shell = shells.find((each) => each === given.text('shell')) ?? findShell(context.env);
    // In a file, nothing may stand beside the variables.
    const stream = isJson || shell === 'env' ? context.stderr : context.stdout;
    const show = (text: string, isFailed: boolean) => writeLine(stream, text, isFailed ? 'red' : undefined);
    const sandbox = await startFrom(given, {
      onRequest(request) {
        show(describeRequest(request), request.reason !== null);
        for (const note of request.notes) writeLine(stream, `  note: ${note}`, 'yellow');
      },
      onCallback: (callback) => show(describeCallback(callback), callback.attempts.at(-1)?.problem !== null),
    });
    try {
      const { origin, baseUrls } = sandbox;
      const { partnerId, wire } = sandbox.clientOptions();
      const apiKeys = forEachEnvironment((name) => sandbox.clientOptions(name).apiKey ?? '');
      const facts = { origin, baseUrls, partnerId, apiKeys, ...(wire && { wire }) };
      const networkAddress = isAnyAddress(given.text('host') ?? '') ? findNetworkAddress() : null;
      if (isJson) writeJsonLine(context, facts);
      else {
        const { start, end } = describe({ ...facts, networkAddress });
        stream.write(start);
        context.stdout.write(`${writeVariables({ partnerId, apiKey: apiKeys.sandbox, baseUrls }, shell)}\n`);
        stream.write(end);
      }
      await untilAborted(context.signal);
    } finally {
      await sandbox.stop();
    }
  },
};

function formatFlag(of: string): Flag {
  return choiceFlag(`how requests of ${of} write their timestamp; default iso`, ['iso', 'epoch-ms', 'epoch-s']);
}

async function startFrom(given: Arguments, listeners: Pick<SandboxOptions, 'onRequest' | 'onCallback'>) {
  const { startSandbox } = await import('../../sandbox/index.js');
  try {
    return await startSandbox({ ...readOptions(given), ...listeners });
  } catch (error) {
    throw error instanceof HostedConfigError ? toFlags(error) : error;
  }
}

function readOptions(given: Arguments): SandboxOptions {
  const options: Record<string, unknown> = {};
  const wire: Record<string, unknown> = {};
  for (const [flag, { option, value, kind, isList }] of Object.entries(optionFlags)) {
    if (!given.isSet(flag)) continue;
    const isNumber = kind === 'integer' || kind === 'number';
    const read = isList ? given.list(flag) : isNumber ? given.number(flag) : given.text(flag);
    const [, wireName] = option.split('wire.');
    (wireName === undefined ? options : wire)[wireName ?? option] = value === undefined ? true : read;
  }
  return { ...options, ...(Object.keys(wire).length > 0 && { wire }) };
}

/** Creates an error that lists the same problems, but names flags in place of options. */
function toFlags({ issues }: HostedConfigError): Error {
  const flagOf = (path: string) => {
    const [option = ''] = path.split('[');
    const flag = Object.keys(optionFlags).find((each) => optionFlags[each]?.option === option);
    return flag === undefined ? `"${path}"` : `--${flag}`;
  };
  const text = `Cannot start the sandbox: ${issues.map(({ path, message }) => `${flagOf(path)} ${message}`).join('; ')}`;
  return issues.every(({ path }) => ofThisMachine.includes(path)) ? new RefusedError(text) : new UsageError(text);
}

interface Facts {
  readonly origin: string;
  readonly apiKeys: Readonly<Record<Environment, string>>;
  readonly wire?: WireOptions;
  /** The address at which other machines reach the sandbox; null if they cannot. */
  readonly networkAddress: string | null;
}

/** What stands before and after the variables. */
function describe({ origin, apiKeys, wire, networkAddress }: Facts) {
  const elsewhere = networkAddress && `On other machines: http://${networkAddress}:${new URL(origin).port}\n`;
  const keys = furtherEnvironments.map((name) => `The key of the ${name} environment: ${apiKeys[name]}`);
  const option = wire && `Clients need the option "wire": ${JSON.stringify(wire)}\n`;
  return {
    start: `The sandbox and its console: ${origin}
${elsewhere ?? ''}It is a simulation: it checks no identity, and its keys are test keys.

`,
    end: `
${option ?? ''}${keys.join('\n')}
Ctrl+C stops it.

`,
  };
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
