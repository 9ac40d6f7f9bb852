/**
 * Measures how long the callback handler takes to reject a body of 2 MiB without a signature, because anyone can post
 * such a body. Many shapes of bodies are tried, to find the slowest. Run it with `npm run bench:door`; a number after
 * the command sets the size of a body, in MiB.
 */

import { HostedClient } from 'hosted-client';
import { printLines } from './report/print.ts';
import { apiKey, partnerId } from './service/fixtures.ts';
import { rounded } from './statistics.ts';

const bytes = Number(process.argv[2] ?? 2) * 1024 * 1024;
const client = new HostedClient({
  partnerId,
  apiKey,
  baseUrls: { sandbox: 'https://service.test' },
});
const handle = client.callbacks.handler({ onEvent: () => undefined });

const shapes: Readonly<Record<string, string>> = {
  'small numbers': fill('{"a":[', '1,', '1]}'),
  'empty objects': fill('{"a":[', '{},', '{}]}'),
  'objects of one property': fill('{"a":[', '{"a":1},', '1]}'),
  'lists in lists': fill('{"a":', '[', '', bytes / 2) + fill('', ']', '}', bytes / 2),
  'objects in objects': fill('', '{"a":', '1', bytes / 2) + '}'.repeat(Math.floor(bytes / 2 / 5)),
  'different names': `{${Array.from({ length: Math.floor(bytes / 14) }, (_, index) => `"k${index}":1`).join()}}`,
  'the same name': fill('{', '"a":1,', '"a":1}'),
  'the names "signature" and "timestamp"': fill('{', '"signature":1,', '"timestamp":1}'),
  'empty names without values': fill('{', '""', '}'),
  'names without values': fill('{', '"a"', '}'),
  'strings after "signature"': fill('{"signature":', '"x" ', '}'),
  colons: fill('{', ':', '}'),
  'short strings': fill('{"a":[', '"b",', '"b"]}'),
  'one long string': fill('{"a":"', 'A', '"}'),
  'one string of escapes': fill('{"a":"', '\\"', '"}'),
  'one string of Unicode escapes': fill('{"a":"', '\\u00e9', '"}'),
  'one string of three-byte characters': fill('{"a":"', '李', '"}', bytes / 3),
  'one long number': fill('{"a":', '1', '}'),
  'one long name': fill('{"', 'n', '":1}'),
  'spaces before an object': fill('', ' ', '{}'),
  'line ends in an object': fill('{', '\n', '}'),
  'spaces after an object': fill('{}', ' ', ''),
  'only spaces': fill('', ' ', ''),
  'a string without an end': fill('{"a":"', 'A', ''),
  'a list': fill('[', '1,', '1]'),
  'an image, without a signature': fill('{"PartnerParams":{"user_id":"u","job_id":"j"},"Photo":"', 'A', '"}'),
};

let worstParse = 0;
let worstRefusal = 0;
const figures: string[] = [];
for (const [shape, body] of Object.entries(shapes)) {
  const parse = best(() => parseJson(body));
  let refusal = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) refusal = Math.min(refusal, await refuse(body));
  worstParse = Math.max(worstParse, parse);
  worstRefusal = Math.max(worstRefusal, refusal);
  figures.push(`${shape} ${parse.toFixed(1)} → ${refusal.toFixed(1)}`);
}

printLines([
  {
    what: `unsigned posts of ${bytes / 1024 / 1024} MiB, the slowest rejection of ${figures.length} shapes`,
    unit: '× the slowest JSON.parse of these shapes',
    ours: rounded(worstRefusal / worstParse),
    aim: 1,
    note: `ms of JSON.parse → ms until the handler rejects the post, including reading: ${figures.join(' · ')}`,
  },
]);

function fill(before: string, repeated: string, after: string, length = bytes): string {
  const count = Math.floor((length - before.length - after.length) / repeated.length);
  return before + repeated.repeat(count) + after;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function best(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < 3; count++) {
    const startedAt = performance.now();
    run();
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

async function refuse(text: string): Promise<number> {
  const body = new TextEncoder().encode(text);
  const request = new Request('http://127.0.0.1/', { method: 'POST', body });
  const startedAt = performance.now();
  const { status } = await handle(request);
  const ms = performance.now() - startedAt;
  if (status !== 400 && status !== 401) throw new Error(`Expected status 400 or 401, got ${status}`);
  return ms;
}
