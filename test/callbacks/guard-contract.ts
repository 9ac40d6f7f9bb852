// What every replay guard does: cases, and sequences that are drawn and compared with the words of the interface.

import type { ReplayGuard } from 'hosted-client';
import { expect, test } from 'vitest';
import { randomFrom } from '../support/random.js';

/** A guard without any job, and its clock. */
export interface OpenedGuard {
  readonly guard: ReplayGuard;
  advance(ms: number): unknown;
}

const minute = 60_000;
const leaseMs = 60 * minute;
const keepMs = 4 * 24 * 60 * minute;
const base = Date.parse('2026-01-02T03:04:05.678Z');
const versionOf = (id: string, atMs: string | number) => ({ id, signedAt: new Date(base + Number(atMs)) });

/** `A@5 new` begins version A, signed at 5 ms; `/2` is another job; a lease takes 60 minutes, and `wait` waits minutes. */
const cases = {
  'a version is new, busy while it is handed over, and known once it was':
    'A@0 new, A@0 busy, commit A, A@0 known, A@0 known',
  'each job has a version of its own': 'A@0 new, A@0/2 new, commit A, A@0/2 busy, forget A/2, A@0 known, A@0/2 new',
  'another version is new if it was signed more than two seconds after the one that was handed over':
    'A@0 new, commit A, B@-1 older, B@0 older, B@2000 older, B@2001 new, commit B, A@4001 older, A@4002 new',
  'a version that failed is new at once': 'A@0 new, forget A, A@0 new, A@0 busy, commit A, A@0 known',
  'after a version that failed, another one is new only if it was signed more than two seconds later':
    'A@0 new, forget A, B@2000 older, B@2001 new',
  'a version that failed does not restore the one before it':
    'A@0 new, commit A, B@3000 new, forget B, A@5000 older, A@5001 new',
  'while a version is handed over, all are busy, older and known ones too':
    'A@0 new, commit A, B@3000 new, A@0 busy, A@9000 busy, B@0 busy, C@9000 busy',
  'a lease ends after its time': 'A@0 new, wait 59, A@0 busy, wait 1, A@0 new, A@0 busy',
  'after a lease that ended, another version is new only if it was signed more than two seconds later':
    'A@0 new, wait 60, B@2000 older, B@2001 new, B@2001 busy',
  'a version that is known was signed when it was seen last':
    'A@0 new, commit A, A@3000 known, B@5000 older, B@5001 new',
  'a version that is busy was signed when it was seen last': 'A@0 new, A@3000 busy, commit A, B@5000 older, B@5001 new',
  'a version that is new again was signed when it was seen last':
    'A@0 new, forget A, A@3000 new, commit A, B@5000 older, B@5001 new',
  'an earlier time of a version changes nothing':
    'A@9000 new, A@0 busy, forget A, A@8999 older, A@9000 new, commit A, A@0 known, B@11000 older, B@11001 new',
  'the time of another version changes nothing': 'A@0 new, B@9000 busy, commit A, B@1000 older, C@2001 new',
  'a version whose lease has ended can be committed': 'A@0 new, wait 60, commit A, A@0 known',
  'the first holder of a version can commit it in other hands': 'A@0 new, wait 60, A@0 new, commit A, A@0 known',
  'the first holder of a version can end its lease in other hands': 'A@0 new, wait 60, A@0 new, forget A, A@0 new',
  'a version that was replaced is neither committed nor forgotten':
    'A@0 new, wait 60, B@3000 new, commit A, B@3000 busy, forget A, B@3000 busy, commit B, B@3000 known',
  'what was committed stays so': 'A@0 new, commit A, forget A, A@0 known, commit A, A@0 known',
  'what failed and is committed all the same is known': 'A@0 new, forget A, commit A, A@0 known',
  'a job that is not known is neither committed nor forgotten': 'commit A, forget A, A@0 new',
};

/** Defines the tests of a guard. */
export function testGuard(open: () => Promise<OpenedGuard>): void {
  test.each(Object.entries(cases))('a guard keeps its promise: %s', async (_, steps) => {
    const { guard, advance } = await open();
    const seen: string[] = [];

    for (const step of steps.split(', ')) {
      const [, word, id = '', at = '0', job = '1'] =
        /^(?:(commit|forget|wait) )?(\w+)(?:@(-?\d+))?(?:\/(\d))?/.exec(step) ?? [];
      if (word === 'wait') await advance(Number(id) * minute);
      else if (word === 'commit' || word === 'forget') await guard[word](job, versionOf(id, at));
      seen.push(word ? step : step.replace(/\w+$/, await guard.begin(job, versionOf(id, at), leaseMs, keepMs)));
    }

    expect(seen.join(', ')).toBe(steps);
  });

  test.each([1, 2, 3, 4, 5])('a guard does what its interface says, in drawn sequence %i', async (seed) => {
    const random = randomFrom(seed);
    const draw = (count: number) => Math.floor(random() * count);
    const { guard, advance } = await open();
    const reference = createReference();

    for (let step = 0; step < 300; step++) {
      const given = [`job ${draw(2)}`, versionOf('ABC'[draw(3)] ?? '', step * 100 + draw(8) * 500)] as const;
      const what = (['begin', 'begin', 'begin', 'commit', 'forget', 'wait'] as const)[draw(6)] ?? 'begin';
      if (what === 'begin') {
        const lease = [leaseMs, 3 * leaseMs][draw(2)] ?? 0;
        const [said, seen] = [reference.begin(...given, lease), await guard.begin(...given, lease, keepMs)];
        expect(`${step} ${seen}`).toBe(`${step} ${said}`);
      } else if (what === 'wait') {
        // No lease ends in the minute before or after, so the time that the test takes does not matter.
        const ms = (draw(4) * 60 + 21) * minute;
        reference.advance(ms);
        await advance(ms);
      } else {
        reference[what](...given);
        await guard[what](...given);
      }
    }
  });
}

type Version = Parameters<ReplayGuard['begin']>[1];

/** The interface in its own words. */
function createReference() {
  const jobs = new Map<string, Version & { state: 'in hands' | 'failed' | 'handed over'; leaseEndsAt: number }>();
  let now = 0;
  return {
    advance(ms: number): void {
      now += ms;
    },
    begin(key: string, { id, signedAt }: Version, lease: number): string {
      const row = jobs.get(key);
      const isEarlier = row?.id === id && signedAt < row.signedAt;
      if (row?.id === id && row.signedAt < signedAt) row.signedAt = signedAt;
      const isLater = row !== undefined && signedAt.getTime() - row.signedAt.getTime() > 2_000;
      if (row?.state === 'in hands' && row.leaseEndsAt > now) return 'busy';
      if (row?.id === id && row.state === 'handed over') return 'known';
      if (isEarlier || (row && row.id !== id && !isLater)) return 'older';
      jobs.set(key, { id, signedAt, state: 'in hands', leaseEndsAt: now + lease });
      return 'new';
    },
    commit(key: string, { id }: Version): void {
      const row = jobs.get(key);
      if (row?.id === id) row.state = 'handed over';
    },
    forget(key: string, { id }: Version): void {
      const row = jobs.get(key);
      if (row?.id === id && row.state === 'in hands') row.state = 'failed';
    },
  };
}
