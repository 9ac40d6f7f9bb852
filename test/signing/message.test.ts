/** The signed string. */

import { expect, test } from 'vitest';
import { toSignedText } from '../../src/signing/message.js';

const iso = '2026-01-02T03:04:05.678Z';

test('the signed string is timestamp, partner id and context, one after the other', () => {
  expect(toSignedText({ timestamp: iso, partnerId: '085' }, 'sid_request')).toBe(`${iso}085sid_request`);
});
