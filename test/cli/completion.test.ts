/** The command `completion`: what a shell suggests. */

import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { command } from './running.js';

/** What bash suggests for the last of these words. */
async function complete(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout: script } = await command(['completion', 'bash']);
  const program = `${script}
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hosted_client; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', program, 'bash', 'hosted-client', ...words], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

test.each([
  [['l'], ['links', 'listen']],
  [
    ['links', ''],
    ['create', 'get', 'list', 'update', 'disable'],
  ],
  [
    ['links', 'create', '--c'],
    ['--company-name', '--callback-url'],
  ],
  [['links', 'create', '--name', 'x', '--u'], ['--user-id']],
  [['sandbox', '--sh'], ['--shell']],
])('after %j, bash suggests %j', async (words, suggested) => {
  expect(await complete(...words)).toEqual(suggested);
});

test.each(['zsh', 'fish'])('the script for %s has the same words as the one for bash', async (shell) => {
  const pattern = /'([a-z -]*)\*?'\*?\)?\s+(?:next=|string split -- ' ' )'([^']*)'/g;
  const suggested = ({ stdout }: { readonly stdout: string }) =>
    [...stdout.matchAll(pattern)].map(([, words, next]) => [words, next]);

  const words = suggested(await command(['completion', shell]));

  expect(words.length).toBeGreaterThan(10);
  expect(words).toEqual(suggested(await command(['completion', 'bash'])));
});

test('another shell exits 2, and names those that are known', async () => {
  const { code, stderr } = await command(['completion', 'csh']);

  expect([code, stderr]).toEqual([2, 'Argument 2 must be one of bash, zsh, fish: did you mean "zsh"?\n']);
});
