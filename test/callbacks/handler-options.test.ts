// The options of handler().

import { HostedConfigError, HostedValidationError, isHostedError } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { clientOf, now, thrownBy } from '../support/fake-fetch.js';
import { bodyOf, post } from './deliveries.js';
import { guardWith, listener } from './handled-callback.js';

const age = /^must be .*milliseconds, or false$/;

test.each([
  ['maxAgeMs', -1, age],
  ['maxAgeMs', 0, age],
  ['maxAgeMs', '300000', age],
  ['maxAgeMs', true, age],
  ['maxBytes', 0, /./],
  ['maxBytes', Number.NaN, /./],
  ['replayGuard', {}, /./],
  ['replayGuard', null, /./],
  ['replayGuard', { begin: () => 'new', commit: () => undefined }, /^must have begin\(\), commit\(\) and forget\(\)$/],
  ['confirm', 'false', /./],
  ['confirm', null, /./],
  ['bodyTimeoutMs', 0, /./],
  ['bodyTimeoutMs', Number.POSITIVE_INFINITY, /./],
  ['leaseMs', -1, /./],
  ['maxConfirmations', 0, /./],
  ['maxConfirmations', 1.5, /./],
  ['maxJobsPerSignature', 0, /./],
  ['maxHintAgeMs', false, /./],
  ['onError', 'log', /^must be a function$/],
  ['onErrors', () => undefined, /./],
])('callbacks.handler() names the option %s if it is %o', (path, value, message) => {
  const { client } = clientOf({});

  const error = thrownBy(
    () => client.callbacks.handler({ onEvent: listener(), [path]: value } as never),
    HostedValidationError,
  );

  expect(error).toMatchObject({
    message: expect.stringMatching(/^Cannot receive a callback: /),
    issues: [{ path, message: expect.stringMatching(message) }],
  });
});

test.each([
  ['no onEvent', {}],
  ['an onEvent that is null', { onEvent: null }],
  ['an onEvent that is not a function', { onEvent: 'log', confirm: true }],
])('callbacks.handler() throws HostedConfigError for %s', (_what, options) => {
  const error = thrownBy(() => clientOf({}).client.callbacks.handler(options as never), HostedConfigError);

  expect(error).toMatchObject({
    message: 'Cannot receive a callback: "onEvent" must be a function',
    issues: [{ path: 'onEvent', message: 'must be a function' }],
  });
});

test.each([undefined, null, () => undefined, 'onEvent'])(
  'callbacks.handler() throws an error of this package if its options are %s',
  (options) => {
    const error = thrownBy(() => clientOf({}).client.callbacks.handler(options as never));

    expect(isHostedError(error)).toBe(true);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(?:config|validation)$/) });
  },
);

test('a guard gets the end of the lease, by default in five minutes', async () => {
  const { client } = clientOf({});
  const begin = vi.fn<() => Promise<'repeat'>>(async () => 'repeat');
  const replayGuard = guardWith({ begin });

  await client.callbacks.handler({ onEvent: listener(), replayGuard } as never)(post());
  await client.callbacks.handler({ onEvent: listener(), replayGuard, leaseMs: 1_000 } as never)(post());
  await client.callbacks.receive(bodyOf(), { replayGuard });

  const ends = begin.mock.calls.map((given) => (given as readonly unknown[])[3]);
  expect(ends).toEqual([new Date(now + 300_000), new Date(now + 1_000), new Date(now + 300_000)]);
});
