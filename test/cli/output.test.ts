/** How commands write. */

import { expect, test } from 'vitest';
import { writeTable } from '../../src/cli/output.ts';

test('a table has any number of rows', () => {
  let lines = 0;
  const stream = { write: () => (lines += 1) };
  const context = { env: {}, stdout: stream, stderr: stream, signal: new AbortController().signal };

  writeTable(
    context,
    ['REF'],
    Array.from({ length: 200_000 }, (_, index) => [index]),
  );

  expect(lines).toBe(200_001);
});
