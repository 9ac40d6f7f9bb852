// What a scan of a body finds, and what JSON.parse finds in it.

import { pairNames, scanBody } from '../../src/callbacks/scan-body.js';

/** What a scan finds, as an ordinary object. */
export function scanned(text: string): object | null {
  const pair = scanBody(Buffer.from(text));
  return pair && { ...pair };
}

/** The pair of a text as JSON.parse has it; what no pair can be is an empty object there, as in a scan. */
export function parsedPair(text: string): object {
  const properties = JSON.parse(text) as Record<string, unknown>;
  const own = pairNames.filter((name) => Object.hasOwn(properties, name));
  return Object.fromEntries(own.map((name) => [name, shortScalar(properties[name])]));
}

function shortScalar(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? {} : value;
}
