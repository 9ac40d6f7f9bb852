/**
 * The mistakes that can be put into responses and callbacks on purpose, in words.
 *
 * @module
 */

import type { MockFault } from '../testing/types.js';

/** What the service does with each fault. */
export const faultTexts: Readonly<Record<MockFault['kind'], string>> = {
  status: 'responds with a status',
  network: 'breaks the connection',
  stall: 'never responds',
  truncate: 'breaks off in the middle of the body',
  html: 'responds with an HTML page',
  'bad-signature': 'signs with another key',
  'missing-signature': 'does not sign',
  'stale-timestamp': 'signs with an hour-old timestamp',
};

/** The mistakes of a callback that is sent again. */
export const variantTexts = {
  forged: 'forged: signed by another key',
  stale: 'stale: signed an hour ago',
  altered: 'altered: the result was changed after signing',
  unsigned: 'unsigned',
} as const;

export type Variant = keyof typeof variantTexts;

export const variants = Object.keys(variantTexts) as readonly Variant[];

export function describeFault(fault: MockFault): string {
  return fault.kind === 'status' ? `responds with ${fault.status}` : faultTexts[fault.kind];
}
