/**
 * Keeps bodies for the console, only in memory. Keys and signatures are left out before a body is kept.
 *
 * @module
 */

import { parseJson } from '../runtime/untrusted-objects.js';

/** The texts that are kept of a request or callback, by name. */
export type KeptTexts = Readonly<Record<string, string>>;

export interface KeptBodies {
  /** Keeps texts besides those that are already kept under this name, and removes the oldest bodies over the limit. */
  put(name: string, texts: KeptTexts): void;
  get(name: string): KeptTexts | null;
  remove(name: string): void;
  clear(): void;
}

/** The name of a request's texts. */
export function requestName(id: number): string {
  return `request ${id}`;
}

/** The name of a callback's texts. */
export function callbackName(id: number): string {
  return `callback ${id}`;
}

/** The name of the receiver's response to a delivery of a callback, counted from 0. */
export function answerName(attempt: number): string {
  return `answer ${attempt}`;
}

/** Creates an empty list of bodies, with at most `maxBytes` of text. */
export function createKeptBodies(maxBytes: number): KeptBodies {
  const kept = new Map<string, KeptTexts>();
  let bytes = 0;

  function remove(name: string): void {
    bytes -= sizeOf(kept.get(name));
    kept.delete(name);
  }

  return {
    put(name, texts) {
      const all = { ...kept.get(name), ...texts };
      remove(name);
      kept.set(name, all);
      bytes += sizeOf(all);
      for (const oldest of kept.keys()) {
        if (bytes <= maxBytes) break;
        remove(oldest);
      }
    },
    get: (name) => kept.get(name) ?? null,
    remove,
    clear() {
      kept.clear();
      bytes = 0;
    },
  };
}

function sizeOf(texts: KeptTexts = {}): number {
  return Object.values(texts).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** What stands for a key or signature. */
export const leftOut = '(left out)';

/** Names of properties whose values are keys or signatures, in any spelling. */
const secretName = /sig|key|secret|token|passw|auth/i;

/** Such a property in a text that is not JSON: its name, and its value. */
const secretPair =
  /([\w-]*(?:sig|key|secret|token|passw|auth)[\w-]*["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s"'&,;}]+)/gi;

/**
 * Leaves out keys, signatures and the passwords of URLs from a text. `secrets` are further values to leave out, wherever
 * they are.
 */
export function leaveOutSecrets(text: string, secrets: readonly string[] = []): string {
  const json = parseJson(text);
  const all = [...secrets, ...secretsIn(text)];
  if (typeof json === 'object' && json !== null) return JSON.stringify(clean(json, all));
  return maskSecrets(text.replace(secretPair, `$1${leftOut}`), all);
}

/** The values in a text that are keys or signatures by their name. */
export function secretsIn(text: string): readonly string[] {
  const json = parseJson(text);
  if (typeof json === 'object' && json !== null) return secretValues(json);
  return [...text.matchAll(secretPair)].map(([, , value = '']) => decodeUrl(value.replace(/^["']|["']$/g, '')));
}

function secretValues(json: unknown): readonly string[] {
  if (typeof json !== 'object' || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) =>
    secretName.test(name) && typeof value === 'string' ? [value] : secretValues(value),
  );
}

function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function clean(json: unknown, secrets: readonly string[]): unknown {
  if (typeof json === 'string') return maskSecrets(json, secrets);
  if (Array.isArray(json)) return json.map((each) => clean(each, secrets));
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      maskSecrets(name, secrets),
      secretName.test(name) ? leftOut : clean(value, secrets),
    ]),
  );
}

/** Leaves out these values and the passwords of URLs from a text. */
export function maskSecrets(text: string, secrets: readonly string[] = []): string {
  // Shorter values would be found in ordinary words.
  const spellings = secrets.filter(({ length }) => length >= 6).flatMap((each) => [each, encodeURIComponent(each)]);
  const rest = spellings.reduce((all, each) => all.replaceAll(each, leftOut), text);
  return rest.replaceAll(/(\w:\/\/)[^/?#\s"]*@/g, '$1');
}
