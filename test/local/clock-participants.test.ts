import { expect, test } from 'vitest';
import { acceptParticipants, joinClock } from '../../src/local/clock-participants.js';

test('code that joins a clock works on a clock of its own, or on the same one where no participants are known', () => {
  const participant = { isIdle: () => true, hasCalled: () => false };
  const plain = { now: () => 1 };
  const accepting = { now: () => 2 };
  const own = { now: () => 3 };
  acceptParticipants(accepting, (joined) => (joined === participant ? own : plain));

  expect(joinClock(plain, participant)).toBe(plain);
  expect(joinClock(accepting, participant)).toBe(own);
});
