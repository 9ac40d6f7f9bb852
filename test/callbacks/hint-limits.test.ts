/** What one signed pair is worth: how often a job is asked about, how many jobs are remembered, and what of each. */

import { expect, test } from 'vitest';
import { createHintLimits, type Hint, type Permit } from '../../src/callbacks/hint-limits.js';

/** Bounds on a clock that a test moves. */
function start() {
  const time = { elapsed: 0 };
  const limits = createHintLimits(() => time.elapsed);
  const advance = (ms: number) => {
    time.elapsed += ms;
  };
  /** Asks about a hint, which must be permitted, and handles it. */
  const handle = (hint: Hint): Permit => {
    const permit = permitted(limits.permit(hint));
    permit.recordRequest();
    permit.recordHandled('succeeded');
    permit.end();
    return permit;
  };
  return { limits, advance, handle };
}

function permitted(permit: Permit | null): Permit {
  if (permit === null) throw new Error('expected a permit');
  return permit;
}

const guard = {};

function hintOf(hint: Partial<Hint> = {}): Hint {
  return { timestamp: 'time', job: 'job', bodyDigest: 'body', guard, maxJobs: 20_000, leaseMs: 300_000, ...hint };
}

test('of what never came, nothing was handled, is in hand, or is for the guard', () => {
  const { limits, handle } = start();
  const known = hintOf();
  const refused = hintOf({ job: 'other', maxJobs: 1 });

  const before = [limits.wasHandled(known), limits.isBusy(known), limits.usesGuard(known)];
  handle(known);
  expect(limits.permit(refused)).toBeNull();
  const after = [limits.wasHandled(refused), limits.isBusy(refused), limits.usesGuard(refused)];

  expect([before, after]).toEqual([
    [false, false, false],
    [false, false, false],
  ]);
});

test('a hint is in hand from its permit to the end of it, and no other body is', () => {
  const { limits } = start();
  const permit = permitted(limits.permit(hintOf()));

  expect([limits.isBusy(hintOf()), limits.isBusy(hintOf({ bodyDigest: 'other' }))]).toEqual([true, false]);
  permit.end();

  expect(limits.isBusy(hintOf())).toBe(false);
});

test('a hint that ends after its lease does not end that of the delivery which has the job by now', () => {
  const { limits, advance } = start();
  const hint = hintOf({ leaseMs: 1_000 });
  const late = permitted(limits.permit(hint));
  advance(1_000);
  const current = permitted(limits.permit(hint));

  late.end();

  expect(limits.isBusy(hint)).toBe(true);
  expect(limits.permit(hint)).toBeNull();
  current.end();
  expect(limits.permit(hint)).not.toBeNull();
});

test('the one repeat at once that was used stays used, though a later permission is given back', () => {
  const { limits, advance, handle } = start();
  const hint = hintOf();
  handle(hint);
  handle(hint);
  advance(1_000);

  permitted(limits.permit(hint)).cancel();
  handle(hint);

  expect(limits.permit(hint)).toBeNull();
});

test('of 10,000 jobs none is forgotten, and with one more those of the time that was used longest ago', () => {
  const { limits, handle } = start();
  const first = (job: number) => hintOf({ timestamp: 'first', job: `job-${job}` });
  const second = hintOf({ timestamp: 'second', job: 'job' });
  const third = (job: number) => hintOf({ timestamp: 'third', job: `job-${job}` });
  handle(second);
  handle(first(0));
  handle(first(1));
  // The second time is used again: the first one is the oldest by now.
  limits.permit(second)?.cancel();
  for (let job = 0; job < 9_997; job++) handle(third(job));

  expect([first(0), first(1), second, third(0)].map(limits.wasHandled)).toEqual([true, true, true, true]);
  handle(third(9_997));

  expect([first(0), first(1), second, third(0), third(9_997)].map(limits.wasHandled)).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
  // Two were forgotten: there is room for one.
  handle(third(9_998));
  expect(limits.wasHandled(second)).toBe(true);
  handle(third(9_999));
  expect([second, third(0)].map(limits.wasHandled)).toEqual([false, true]);
});

test('the time that is in use is not forgotten, however many jobs it has', () => {
  const { limits, handle } = start();

  for (let job = 0; job <= 10_000; job++) handle(hintOf({ job: `job-${job}` }));

  expect(limits.wasHandled(hintOf({ job: 'job-0' }))).toBe(true);
  expect(limits.wasHandled(hintOf({ job: 'job-10000' }))).toBe(true);
});

test('of each job 100 bodies are remembered, and no more', () => {
  const { limits, advance, handle } = start();

  for (let body = 0; body <= 100; body++) {
    handle(hintOf({ bodyDigest: `body-${body}` }));
    advance(1_000);
  }

  expect(limits.wasHandled(hintOf({ bodyDigest: 'body-99' }))).toBe(true);
  expect(limits.wasHandled(hintOf({ bodyDigest: 'body-100' }))).toBe(false);
});
