// No regular expression, and nothing else that reads a string, takes a time that grows with the square of its length.

import { readdirSync, readFileSync } from 'node:fs';
import { type CallOptions, HostedClient, type HostedClientOptions, hmacSha256, type NewLink } from 'hosted-client';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { apiKey, clientOf, partnerId } from '../support/fake-fetch.js';

/**
 * Whether an expression can be tried in linear time by a backtracking engine, as far as that shows in its
 * form: at one place only, with one quantifier without a limit at most; or everywhere, with none.
 */
function isPlainlyLinear(source: string): boolean {
  // Neither what is escaped nor what stands in a class repeats anything.
  const bare = source.replaceAll(/\\u[0-9a-f]{4}|\\./gi, 'e').replaceAll(/\[[^\]]*\]/g, 'c');
  const unlimited = [...bare.matchAll(/[*+]|\{\d+,\}/g)].length;
  return unlimited === 0 || (bare.startsWith('^') && unlimited === 1);
}

/** Those of another form, and why they are linear all the same. */
const others: Readonly<Record<string, string>> = {
  // Each label ends with the dot that none of its characters is, and each part of one begins with a hyphen, which
  // is none of the part's: a host can be divided in one way.
  "^https?:\\/\\/(?:[a-z][a-z0-9]*(?:-[a-z0-9]+)*\\.)+[a-z]{2,}(?:\\/[\\w./~%&=+?:,;@!$'()*-]*)?$":
    'protocol/http-url.ts',
  // A name has at most 80 characters, and each part after it begins with a colon, which no digit is.
  '([\\w.@+-]{1,80}:\\d+:\\d+)\\)?$': 'errors/caller-frames.ts',
  // Nothing follows the digits, so that no match of them is ever taken back.
  '[-:]|\\.\\d+': 'testing/job-records.ts',
  // It is tried at the beginning of a name alone. No character of a name ends it, and a quoted value can be divided in
  // one way.
  '(?<![\\w-])(?=[\\w-]*(?:sig|key|secret|token|passw|auth))([\\w-]+["\']?\\s*[:=]\\s*)("(?:[^"\\\\]|\\\\.)*"?|\'[^\']*\'?|[^\\s"\'&,;}]+)':
    'sandbox/kept-bodies.ts',
  // A match begins with what none of its characters is.
  '(\\w:\\/\\/)[^/?#\\s"]*@': 'sandbox/kept-bodies.ts',
  // Each value of a query, and each string, can be divided in one way, and begins with what none of its characters is.
  '([?&](?:[^=&#]*=)?)[^&#]+': 'sandbox/kept-bodies.ts',
  '("callback_url"\\s*:\\s*)("(?:[^"\\\\]|\\\\.)*)': 'sandbox/kept-bodies.ts',
  // It is tried at the beginning alone, and nothing that its first part can match follows this part.
  '^https?:\\/\\/([^/?#]*)(.*)$': 'sandbox/request-check.ts',
  // It is tried at the beginning alone, and nothing that a repeated part can match follows this part.
  '^(?=\\s*\\S)(?:memory:\\/\\/|(?![a-z-]+:\\/\\/))': 'tracking/options.ts',
};

interface Expression {
  readonly path: string;
  readonly source: string;
}

function expressionsIn(path: string, text: string): readonly Expression[] {
  const found: Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      found.push({ path, source: node.text.slice(1, node.text.lastIndexOf('/')) });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ESNext));
  return found;
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.tsx?$/.test(path));
const texts = files.map((path) => ({ path, text: readFileSync(`src/${path}`, 'utf8') }));
const expressions = texts.flatMap(({ path, text }) => expressionsIn(path, text));

test('every regular expression of the source is linear by its form, or listed with the reason', () => {
  const planted = ['\\/+$', '^a*a*$', '^(a+)+$', '^\\s*x\\s*$', '^a{2,}b+'];
  const plain = ['^\\d{1,4}$', '^[A-Za-z0-9+/]*={0,2}$', '[\\r\\n]', '^\\S+$'];

  const questioned = expressions.filter(({ source }) => !isPlainlyLinear(source));

  expect(planted.filter(isPlainlyLinear)).toEqual([]);
  expect(plain.filter((source) => !isPlainlyLinear(source))).toEqual([]);
  expect(expressions.length).toBeGreaterThan(25);
  expect(Object.fromEntries(questioned.map(({ path, source }) => [source, path]))).toEqual(others);
});

test('no regular expression is made from a string', () => {
  expect(texts.filter(({ text }) => /\bRegExp\(/.test(text)).map(({ path }) => path)).toEqual([]);
});

// What callers and the service may send -------------------------------------

const length = 100_000;
const parts = ['/', 'a', 'a.', 'a-', '1', ' ', '=', '.', '//v1', '\\', ')', 'é', '\t'];
const ends = ['', '!', '/v1'];
const hostile = parts.flatMap((part) => ends.map((end) => part.repeat(length / part.length) + end));

/** The processor time of this thread since an earlier one: a busy machine does not change it. */
function takeTime(since?: NodeJS.CpuUsage): NodeJS.CpuUsage & { readonly sum: number } {
  const used = process.threadCpuUsage(since);
  return { ...used, sum: used.user + used.system };
}

/** The time that a quadratic expression takes for a tenth of the length: a hundredth of that for the whole. */
function measureQuadratic(): number {
  const startedAt = takeTime();
  expect(/\/+$/.test(`${'/'.repeat(length / 10)}!`)).toBe(false);
  return takeTime(startedAt).sum;
}

const optionsOf = (options: object) => ({ partnerId, apiKey, baseUrls: {}, ...options }) as HostedClientOptions;
const answered = (record: object, init?: ResponseInit) =>
  clientOf(() => new Response(JSON.stringify(record), init), { maxRetries: 0, wire: { echoesTimestamp: false } })
    .client;
const job = { userId: 'user-1', jobId: 'job-1' };

/** Whatever is given a string, and reads it. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'the path of a base URL': (text) => new HostedClient(optionsOf({ baseUrls: { sandbox: `https://a.test/${text}` } })),
  'the host of a base URL': (text) => new HostedClient(optionsOf({ baseUrls: { sandbox: `https://${text}` } })),
  'the other options of a client': (text) =>
    new HostedClient(optionsOf({ partnerId: text, userAgentSuffix: text, wire: { brand: text, listMarker: text } })),
  'a key': (text) => hmacSha256({ apiKey: text, context: text }),
  'a new link': (text) =>
    answered({}).links.create({
      ...{ companyName: text, dataPrivacyPolicyUrl: `https://${text}`, callbackUrl: `https://a.test/${text}` },
      ...{ expiresAt: `2026-01-01T00:00:00.${text}`, logoUrl: text, idTypes: [{ country: text, idType: text }] },
    } as unknown as NewLink),
  'a reference id': (text) => answered({}).links.get(text),
  headers: (text) => answered({}).links.get('ref-1', { headers: { 'x-a': text, [text]: 'a' } } as CallOptions),
  'a link in a response': (text) =>
    answered({
      ...{
        link_url: 'https://a.test/',
        ref_id: text,
        callback_url: `https://${text}`,
        logo_url: `https://a.test/${text}`,
      },
      ...{ created_at: text, expires_at: `2026-01-01T00:00:00.${text}`, disabled_at: text },
    }).links.get('ref-1'),
  'counts and flags in a response': (text) =>
    answered({ link_url: text, ref_id: 'ref-1', total_jobs: text, is_single_use: text }).links.get('ref-1'),
  'a job status': (text) =>
    answered({ job_complete: text, timestamp: text, sec_key: text, code: text, result: text }).jobs.status(job),
  'an error response': (text) => answered({ code: text, error: text }, { status: 400 }).links.get('ref-1'),
  'headers of a response': (text) => {
    const value = text.replaceAll(/[^ -~]/g, '_');
    const headers = { 'retry-after': value, date: value, 'x-request-id': value };
    return answered({}, { status: 503, headers }).links.get('ref-1');
  },
  'a callback': (text) => answered({}).callbacks.receive(JSON.stringify({ timestamp: text, signature: text })),
};

test.each(Object.entries(readers))('%s of 100,000 characters is read in linear time', async (_what, read) => {
  const quadratic = measureQuadratic();
  let longest = 0;

  for (const text of hostile) {
    const startedAt = takeTime();
    try {
      await read(text);
    } catch {
      // Most of it is refused.
    }
    longest = Math.max(longest, takeTime(startedAt).sum);
  }

  // A quadratic one would take a hundred times as long.
  expect(longest).toBeLessThan(10 * quadratic);
});
