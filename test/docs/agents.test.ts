/** AGENTS.md and llms.txt, held to their word: what they name exists, and what they link to is in the package. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { HostedClient, isHostedError } from 'hosted-client';
import * as node from 'hosted-client/node';
import { createMockService } from 'hosted-client/testing';
import { beforeAll, describe, expect, test } from 'vitest';

const text = (path: string) => readFileSync(path, 'utf8');
const guides = ['AGENTS.md', 'llms.txt'];

/** What stands in backticks. */
const code = guides.flatMap((path) => [...text(path).matchAll(/`([^`]+)`/g)].map(([, words]) => words ?? ''));

describe('what they name exists', () => {
  const { sandbox } = createMockService();
  const client = new HostedClient({ ...sandbox.clientOptions });

  test('every method of the client', () => {
    const calls = code.flatMap((words) => [
      ...words.matchAll(/\b(?:client\.)?(links|jobs|callbacks)\.(\w+)/g),
      // Named without their namespace.
      ...words.matchAll(/^()(waitForCompletion|watch|waitForAll)$/g),
    ]);
    const missing = calls.filter(([, namespace, method = '']) => {
      const holder: unknown = namespace ? client[namespace as 'links' | 'jobs' | 'callbacks'] : client.jobs;
      return typeof (holder as Record<string, unknown>)[method] !== 'function';
    });

    expect(new Set(calls.map(([, , method]) => method)).size).toBeGreaterThan(6);
    expect(missing.map(([call]) => call)).toEqual([]);
    expect(Object.keys(node)).toEqual(expect.arrayContaining(['nodeHandler', 'lambdaHandler']));
    expect([typeof HostedClient.fromEnv, typeof isHostedError]).toEqual(['function', 'function']);
  });

  test('every other name is of the public surface, or of somebody else’s', () => {
    const reports = readdirSync('docs/api').filter((file) => file.endsWith('.api.md'));
    const surface = reports.map((file) => text(`docs/api/${file}`)).join('\n');
    const foreign =
      /^(?:const|new|import|server|only|express|json|limit|mb|bodyLimit|useBodyParser|Retry|After|where|results|excluded|signed_at)$/;
    // Paths are looked at below.
    const names = code
      .filter((words) => !/^[\w*./-]+\.(?:md|ts|txt)$|^npx /.test(words))
      .map((words) => words.replaceAll(/'[^']*'/g, (quoted) => (/^'\w+'$/.test(quoted) ? quoted : '')))
      .flatMap((words) => words.match(/[A-Za-z_]\w*/g) ?? [])
      .filter((name) => !foreign.test(name));

    const unknown = [...new Set(names)].filter((name) => !new RegExp(`\\b${name}\\b`).test(surface));

    expect(names.length).toBeGreaterThan(40);
    expect(unknown).toEqual([]);
  });

  test('there are fifteen mistakes', () => {
    const mistakes = text('AGENTS.md').split('## Fifteen mistakes')[1] ?? '';

    expect([...mistakes.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number))).toEqual(
      Array.from({ length: 15 }, (_, index) => index + 1),
    );
  });
});

test.each(readdirSync('skills'))('skills/%s says its name and when to use it, and both guides name it', (name) => {
  const path = `skills/${name}/SKILL.md`;
  const [, front = ''] = /^---\n([\s\S]*?)\n---\n\n# /.exec(text(path)) ?? [];

  expect(front).toMatch(new RegExp(`^name: ${name}\\ndescription: [A-Z][^\\n:]+\\. Use it [^\\n:]+\\.$`));
  expect(guides.filter((guide) => !text(guide).includes(path))).toEqual([]);
});

test.each(guides)('%s names the sandbox, the doctor and tracking', (guide) => {
  const named = ['npx hosted-client sandbox', 'npx hosted-client doctor', 'docs/tracking.md'];

  expect(named.filter((words) => !text(guide).includes(words))).toEqual([]);
});

describe('the package', () => {
  let shipped: ReadonlySet<string>;

  beforeAll(() => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
    const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as { files: { path: string }[] }[];
    shipped = new Set(packed?.files.map(({ path }) => path));
  }, 30_000);

  test.each([...guides, 'docs/recipes.md'])('all that %s links and names is in the package', (path) => {
    const links = [...text(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link ?? '');
    const inCode = [...text(path).matchAll(/`([\w./-]+\.(?:md|txt|yaml))`/g)].map(([, name]) => name ?? '');
    const files = [
      ...links.map((link) => posix.join(posix.dirname(path), link)),
      ...inCode.filter((name) => !links.includes(name)),
    ];

    expect(files.length).toBeGreaterThan(1);
    expect(files.filter((file) => !shipped.has(file))).toEqual([]);
  });

  test('the examples that the README and the pages name are in the package', () => {
    const pages = ['README.md', 'docs/observability.md', 'docs/protocol.md', 'docs/recipes.md'];
    const named = pages.flatMap((path) => text(path).match(/\bexamples\/[\w./-]+\.m?[jt]s\b/g) ?? []);

    expect(new Set(named).size).toBeGreaterThan(10);
    expect(named.filter((file) => !shipped.has(file))).toEqual([]);
  });
});
