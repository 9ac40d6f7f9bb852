/** The signed string, and how a point in time is written in it and on the wire. */

import { expect, test } from 'vitest';
import { toSignedText, writeTimestamp } from '../../src/signing/message.js';

// 2026-01-02T03:04:05.678Z is 1,767,323,045,678 ms after the epoch, as `date -u -d @1767323045` says of its seconds.
const ms = 1_767_323_045_678;
const iso = '2026-01-02T03:04:05.678Z';

test('the signed string is timestamp, partner id and context, one after the other', () => {
  expect(toSignedText({ timestamp: iso, partnerId: '085' }, 'sid_request')).toBe(`${iso}085sid_request`);
});

test.each([
  ['links', 'iso', { signed: iso, sent: iso }],
  ['jobs', 'iso', { signed: iso, sent: iso }],
  ['links', 'epoch-ms', { signed: '1767323045678', sent: '1767323045678' }],
  // §4.5: a number in the table of the fields of job status.
  ['jobs', 'epoch-ms', { signed: '1767323045678', sent: 1_767_323_045_678 }],
  ['links', 'epoch-s', { signed: '1767323045', sent: '1767323045' }],
  ['jobs', 'epoch-s', { signed: '1767323045', sent: 1_767_323_045 }],
] as const)('%s write a point in time as %s, whatever the others do', (host, format, written) => {
  const other = format === 'iso' ? 'epoch-s' : 'iso';
  const wire =
    host === 'links'
      ? { timestampFormat: format, jobTimestampFormat: other }
      : { timestampFormat: other, jobTimestampFormat: format };

  expect(writeTimestamp(ms, host, wire as never)).toEqual(written);
});
