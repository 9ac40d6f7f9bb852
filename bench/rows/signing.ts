/** Measures signing and verifying without a call, as multiples of the time that `node:crypto` takes. */

import { medians, type Row, ratios, valueIn } from '../row.ts';
import { rounded } from '../statistics.ts';
import { takeTurns } from '../turns.ts';
import { type Context, participantsOf } from './context.ts';

export async function signingRows(context: Context): Promise<readonly Row[]> {
  const outcomes = await takeTurns({
    block: 'signing',
    participants: participantsOf(['bare', 'ours'], context),
    settings: () => ({}),
    rounds: 15,
    warmUps: 2,
  });
  return [
    ['HMAC-SHA256', 'hmac'],
    ['Ed25519', 'ed25519'],
  ].map(([scheme, name = '']) => ({
    what: `${scheme}, sign and verify`,
    unit: '× node:crypto',
    figures: ratios(outcomes, name),
    note: `${rounded(valueIn(medians(outcomes, name).ours))} µs`,
  }));
}
