/** Plants values that occur nowhere else, and looks for them in every way a thing can show itself. */

import { randomBytes } from 'node:crypto';
import { format, inspect } from 'node:util';
import type { HostedError } from 'hosted-client';
import { expect } from 'vitest';

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
