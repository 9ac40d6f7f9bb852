// Plants values that occur nowhere else, and looks for them in every way in which a value can show itself.

import { randomBytes } from 'node:crypto';
import { format, inspect } from 'node:util';
import type { HostedClientOptions, HostedError, HostedEvent, Logger } from 'hosted-client';
import { expect } from 'vitest';
import { clientOf, type Reply, recordingClock } from './fake-fetch.js';

/** Makes values that occur nowhere else, and remembers them. */
export function createPlanter() {
  const planted: string[] = [];
  const plant = (what: string): string => {
    const value = `${what}-0${randomBytes(8).toString('hex')}`;
    planted.push(value);
    return value;
  };
  return { planted, plant };
}

export type Planter = ReturnType<typeof createPlanter>;

export const everything = {
  showHidden: true,
  depth: Number.POSITIVE_INFINITY,
  maxStringLength: null,
  maxArrayLength: null,
};

/** Every way a value shows itself. */
export function showings(value: object): readonly string[] {
  return [
    inspect(value, { ...everything, getters: true }),
    inspect(value, { ...everything, customInspect: false }),
    inspect({ ...value }, { ...everything, getters: true }),
    format('%s %o %O %j', value, value, value, value),
    JSON.stringify(value) ?? '',
    JSON.stringify({ ...value }),
    String(value),
    cloned(value),
  ];
}

function cloned(value: object): string {
  try {
    return inspect(structuredClone(value), { ...everything, getters: true });
  } catch {
    // What cannot be cloned shows nothing that way.
    return '';
  }
}

/** Every way an error shows itself, with all of its causes. */
export function showingsOf(error: HostedError): readonly string[] {
  const all: string[] = [];
  for (let each: unknown = error; typeof each === 'object' && each !== null; each = (each as Error).cause) {
    const { message, stack, name } = each as Error;
    all.push(message, stack ?? '', name, ...showings(each));
  }
  return all;
}

/** None of what was planted stands in any of the texts. */
export function expectNothingIn(texts: readonly string[], planted: readonly string[]): void {
  const all = texts.join('\n');
  expect(planted.filter((value) => all.includes(value))).toEqual([]);
}

/** A logger and a listener, and all that they get. */
export function recordTelemetry() {
  const told: unknown[] = [];
  const events: HostedEvent[] = [];
  const write = (...line: readonly unknown[]) => void told.push(...line);
  const logger: Logger = { debug: write, info: write, warn: write, error: write };
  const onEvent = (event: HostedEvent) => {
    events.push(event);
    told.push(event);
  };
  const tellings = () => told.flatMap((each) => [inspect(each, everything), JSON.stringify(each) ?? '']);
  return { told, events, tellings, telemetry: { logger, onEvent } };
}

/** The same properties, each with something planted that has its name. */
export function plantAll(value: unknown, plant: Planter['plant'], name = 'value'): unknown {
  if (Array.isArray(value)) return value.map((entry) => plantAll(entry, plant, name));
  if (typeof value !== 'object' || value === null) return plant(name);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plantAll(inner, plant, key)]));
}

/** A client with something planted in each of its options, and a record of its events and log lines. */
export function plantedClient({ plant, planted }: Planter, reply: Reply, options: Partial<HostedClientOptions> = {}) {
  const { telemetry, ...recorded } = recordTelemetry();
  const made = clientOf(reply, {
    partnerId: plant('partner'),
    ...(options.signer ? {} : { apiKey: plant('key') }),
    baseUrls: { sandbox: `https://sandbox.hosted.test/${plant('path')}` },
    defaultCallbackUrl: `https://partner.test/${plant('callback')}`,
    userAgentSuffix: plant('agent'),
    clock: recordingClock(),
    ...telemetry,
    ...options,
  } as Partial<HostedClientOptions>);
  /** All that was planted, and the signatures that were sent. */
  const secrets = () => [
    ...planted,
    ...made.sent.flatMap(({ body }) => [body.signature, body.sec_key]).filter((value) => typeof value === 'string'),
  ];
  return { ...made, ...recorded, secrets };
}
