/** The pictures of the documents show the names that the source has. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writePictures } from '../../docs/pictures.ts';

test.each([...writePictures()])('%s is what npm run pictures writes', (path, content) => {
  expect(readFileSync(path, 'utf8')).toBe(content);
});
