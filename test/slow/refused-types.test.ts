// What the compiler says of the mistakes that people make, on each TypeScript that is promised.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const file = 'test/consumer/mistakes.ts';
const compilers = {
  '5.9': 'node_modules/typescript-5.9/lib/tsc.js',
  '6': 'node_modules/typescript/lib/tsc.js',
  '7': 'node_modules/@typescript/native/bin/tsc',
};

/** What is to be read in the text for each mistake, by its number: what is wrong, or what would be right. */
const texts: Readonly<Record<number, RegExp>> = {
  1: /Types of property 'signer' are incompatible\.\s+Type 'Signer' is not assignable to type 'undefined'/,
  2: /Property 'apiKey' is missing .* but required in type 'WithApiKey'/,
  3: /Property 'production' is missing in type '\{ sandbox: string; \}' but required/,
  4: /Property '(?:environment|sandbox)' is missing/,
  5: /Types of property 'environment' are incompatible/,
  6: /Type '\{\}' is not assignable to type '.*\{ sandbox: string \| URL; production\?: string \| URL; \}/,
  7: /Type 'number' is not assignable to type 'string'/,
  9: /Type '"live"' is not assignable to type '"(?:sandbox|production)" \| "(?:sandbox|production)"'/,
  10: /'apikey' does not exist .* Did you mean to write 'apiKey'\?/,
  11: /'timeout' does not exist .* Did you mean to write 'timeoutMs'\?/,
  12: /type '\{\}' is not assignable to parameter of type 'LinkChanges'/,
  13: /Argument of type '\{ refId: string; \}' is not assignable to parameter of type 'string'/,
  14: /Property 'companyName' is missing/,
  15: /Type '"basic_kyc"' is not assignable to type '"biometric_kyc" \| "doc_verification"/,
  16: /Type 'number' is not assignable to type 'string \| Date'/,
  18: /Expected 1 arguments, but got 0/,
  19: /Property 'refId' does not exist on type 'ApiPromise<Link>'/,
  20: /Argument of type 'string' is not assignable to parameter of type 'JobQuery'/,
  21: /types '.*"succeeded".*' and '"completed"' have no overlap/,
  22: /Argument of type 'object' is not assignable to parameter of type 'string \| Uint8Array/,
  23: /Property 'resultCode' does not exist on type 'JobEvent'/,
  24: /'confirm' does not exist in type 'HandlerOptions'/,
  25: /types '.*"authentication".*' and '"unauthorized"' have no overlap/,
  26: /'CallbackHandler' is (?:not assignable|missing the following properties)/,
  27: /Types of property 'sandbox' are incompatible\.\s+Type 'string \| undefined' is not assignable/,
  28: /Property 'baseUrls' is missing .* but required in type 'SandboxOptions'/,
  29: /Types of property 'apiKey' are incompatible\.\s+Type 'string \| undefined' is not assignable/,
  30: /Property 'baseUrls' is missing .* but required in type 'ProductionOptions'/,
};

const lines = readFileSync(file, 'utf8').split('\n');

/** The number of the mistake on a line: that of the comment above it. */
const numberAt = (line: number) => Number(/^\/\/ (\d+) /.exec(lines[line - 2] ?? '')?.[1]);

async function complaintsOf(compiler: string): Promise<ReadonlyMap<number, string>> {
  const args = [compiler, '-p', 'test/consumer/tsconfig.mistakes.json', '--pretty', 'false'];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((failed: { stdout: string }) => failed);
  const complaints = stdout.split(/^(?=\S+\(\d+,\d+\): error)/m).filter((text) => text.trim() !== '');
  return new Map(
    complaints.map((text) => {
      const [, path, line] = /^(\S+)\((\d+),/.exec(text) ?? [];
      expect(path, text).toBe(file);
      return [numberAt(Number(line)), text];
    }),
  );
}

test('the file has 30 mistakes', () => {
  const numbers = lines.flatMap((_line, index) => numberAt(index + 1) || []);

  expect(numbers).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});

describe.each(Object.entries(compilers))('TypeScript %s', (_version, compiler) => {
  test('finds 28 of 30 mistakes, and says what is wrong', { timeout: 120_000 }, async () => {
    const complaints = await complaintsOf(compiler);

    expect([...complaints.keys()]).toEqual(Object.keys(texts).map(Number));
    for (const [number, text] of complaints) {
      expect(text).toMatch(texts[number] as RegExp);
      // Longer ones are not read.
      expect(text.split('\n').length, text).toBeLessThanOrEqual(17);
    }
  });
});
