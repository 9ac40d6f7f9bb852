/**
 * Keeps bodies for the console, only in memory. Keys and signatures are left out before a body is kept.
 *
 * @module
 */

import { isRecord, parseJson } from '../runtime/untrusted-objects.js';
import { decodePart } from '../testing/routing.js';

/** The texts that are kept of a request or callback. `response 0` is the receiver's response to the first delivery. */
export type KeptTexts = Readonly<Partial<Record<TextName, string>>>;

type TextName = 'sent' | 'response' | 'expectedText' | 'signedText' | 'headers' | `response ${number}`;

type Owner = `${'request' | 'callback'} ${number}`;

export type KeptBodies = ReturnType<typeof createKeptBodies>;

/** Creates an empty list of bodies, with at most `maxBytes` of text. */
export function createKeptBodies(maxBytes: number) {
  const kept = new Map<Owner, KeptTexts>();
  let bytes = 0;

  function remove(owner: Owner): void {
    bytes -= sizeOf(kept.get(owner));
    kept.delete(owner);
  }

  return {
    /** Keeps texts besides those that are already kept of the owner, and removes the oldest bodies over the limit. */
    put(owner: Owner, texts: KeptTexts): void {
      const all = { ...kept.get(owner), ...texts };
      remove(owner);
      kept.set(owner, all);
      bytes += sizeOf(all);
      for (const oldest of kept.keys()) {
        if (bytes <= maxBytes) break;
        remove(oldest);
      }
    },
    /** The texts to show, without the values in the queries of callback URLs. */
    get(owner: Owner): KeptTexts | null {
      const texts = kept.get(owner);
      return texts === undefined
        ? null
        : Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, maskCallbackUrls(text)]));
    },
    /** The body to send again. */
    sentOf: (owner: Owner) => kept.get(owner)?.sent,
    remove,
    clear(): void {
      kept.clear();
      bytes = 0;
    },
  };
}

function sizeOf(texts: KeptTexts = {}): number {
  return Object.values(texts).reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0);
}

/** What stands for a key or signature. */
export const leftOut = '(left out)';

/** Names of properties whose values are keys or signatures, in any spelling. */
const secretName = /sig|key|secret|token|passw|auth/i;

/**
 * Such a property in a text that is not JSON: its name, and its value. A name is read only from its beginning, because a
 * long text would take minutes if each of its characters could begin a name.
 */
const secretPair =
  /(?<![\w-])(?=[\w-]*(?:sig|key|secret|token|passw|auth))([\w-]+["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s"'&,;}]+)/gi;

/** How many keys and signatures a body may have. Each is looked for in the whole body, which takes time. */
const mostSecrets = 500;

/** A body that was read. */
export interface ReadBody {
  /** The body, if it is a JSON object that does not have too many keys; otherwise empty. */
  readonly object: Readonly<Record<string, unknown>>;
  /** The text without keys and signatures. */
  readonly text: string;
  /** The keys and signatures, which may also be somewhere else. */
  readonly secrets: readonly string[];
}

/** Reads a body, and leaves out the values that are keys or signatures by their names. */
export function readBody(text: string): ReadBody {
  const json = parseJson(text);
  const secrets: string[] = [];
  const leaveOut = (value: unknown): string => {
    if (typeof value === 'string') secrets.push(value);
    return leftOut;
  };
  const shorter =
    typeof json === 'object' && json !== null
      ? JSON.stringify(json, (name, value) => (secretName.test(name) ? leaveOut(value) : value))
      : text.replace(secretPair, (_, name, value) => name + leaveOut(decodePart(value.replace(/^["']|["']$/g, ''))));
  if (secrets.length > mostSecrets) return { object: {}, text: leftOut, secrets: [] };
  return { object: isRecord(json) ? json : {}, text: shorter, secrets };
}

/** Reads the reason code of a receiver: a body that is one word. */
export function readReasonCode(text = ''): string | undefined {
  return /^[a-z_]{1,32}$/.exec(text.trim())?.[0];
}

/** Leaves out these values and the passwords of URLs, wherever they are in a text. */
export function maskSecrets(text: string, secrets: readonly string[] = []): string {
  // Shorter values would be found in ordinary words.
  const long = new Set(secrets.filter(({ length }) => length >= 6));
  const rest = [...long]
    .flatMap((each) => [
      each,
      encodeURIComponent(each.replace(/\p{Cs}/gu, '\ufffd')),
      JSON.stringify(each).slice(1, -1),
    ])
    .reduce((all, each) => all.replaceAll(each, leftOut), text);
  return rest.replaceAll(/(\w:\/\/)[^/?#\s"]*@/g, '$1');
}

/** Leaves out the user name, the password and the values of the query of a URL. */
export function maskUrl(url: string): string {
  return maskSecrets(url).replaceAll(/([?&](?:[^=&#]*=)?)[^&#]+/g, `$1${leftOut}`);
}

function maskCallbackUrls(text = ''): string {
  return text.replaceAll(/("callback_url"\s*:\s*)("(?:[^"\\]|\\.)*)/g, (_, name, url) => name + maskUrl(url));
}
