// The options of handler() and receive(), and what becomes of those that are no options any more.

import { HostedClient, HostedConfigError, HostedValidationError } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection, thrownBy } from '../support/fake-fetch.js';
import { bodyOf, hint, post, receiver, startHandler } from './deliveries.js';

const onEvent = () => undefined;
const silent = { debug: onEvent, info: onEvent, warn: onEvent, error: onEvent };
const milliseconds = /^must be .*milliseconds/;
const gone = {
  maxAgeMs: 'is not an option any more: use "maxHintAgeMs"',
  confirm: 'is not an option any more: a handler always confirms: use callbacks.receive() for what is not confirmed',
  replayGuard: 'is not an option any more: receive() keeps nothing: use callbacks.handler()',
};

const shared: readonly (readonly [name: string, value: unknown, message: RegExp | string])[] = [
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '300000', true, false, null].map(
    (value) => ['maxHintAgeMs', value, milliseconds] as const,
  ),
  ...[0, -1, 10.5, '10', Number.NaN, false, 64 * 1024 * 1024 + 1].map((value) => ['maxBytes', value, /./] as const),
  ...[300_000, false, null].map((value) => ['maxAgeMs', value, gone.maxAgeMs] as const),
];

test.each([
  ...shared,
  ['replayGuard', {}, 'must have begin(), commit() and forget()'],
  ['replayGuard', null, 'must have begin(), commit() and forget()'],
  ['replayGuard', { begin: onEvent, commit: onEvent }, 'must have begin(), commit() and forget()'],
  ['confirm', false, gone.confirm],
  ['confirm', true, gone.confirm],
  ['bodyTimeoutMs', 0, milliseconds],
  ['leaseMs', -1, milliseconds],
  ['maxConfirmations', 0, /./],
  ['maxConfirmations', 1.5, /./],
  ['maxJobsPerSignature', 0, /./],
  ['onError', 'log', 'must be a function'],
  ['onErrors', onEvent, /onError/],
] as const)('callbacks.handler() refuses the option %s if it is %o', (path, value, message) => {
  const error = thrownBy(() => receiver().handler({ onEvent, [path]: value } as never), HostedValidationError);

  expect(error).toMatchObject({
    message: expect.stringMatching(/^Cannot receive a callback: /),
    issues: [{ path, message: expect.stringMatching(typeof message === 'string' ? literal(message) : message) }],
  });
});

test.each([
  ...shared,
  ['replayGuard', { begin: onEvent, commit: onEvent, forget: onEvent }, gone.replayGuard],
] as const)('callbacks.receive() refuses the option %s if it is %o', async (path, value, message) => {
  const error = await rejection(receiver().receive(bodyOf(), { [path]: value }), HostedValidationError);

  expect(error.issues).toEqual([
    { path, message: expect.stringMatching(typeof message === 'string' ? literal(message) : message) },
  ]);
});

function literal(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.()]/g, '\\$&')}$`);
}

test.each([
  ['no onEvent', {}],
  ['an onEvent that is null', { onEvent: null }],
  ['an onEvent that is not a function', { onEvent: 'log' }],
  ['no options', undefined],
  ['options of null', null],
])('callbacks.handler() throws HostedConfigError for %s', (_what, options) => {
  const error = thrownBy(() => receiver().handler(options as never), HostedConfigError);

  expect(error).toMatchObject({
    message: 'Cannot receive a callback: "onEvent" must be a function',
    issues: [{ path: 'onEvent', message: 'must be a function' }],
  });
});

test.each([
  undefined,
  null,
  { maxHintAgeMs: undefined, maxBytes: undefined, maxAgeMs: undefined, replayGuard: undefined },
])('callbacks.receive() takes options of %o as none, whatever Object.prototype has', async (options) => {
  const prototype = Object.prototype as Record<string, unknown>;
  // With these options, every callback would be too large, or too old.
  Object.assign(prototype, { maxBytes: 1, maxHintAgeMs: 1 });
  try {
    expect(await receiver().receive(bodyOf(), options as never)).toEqual(hint);
  } finally {
    for (const name of ['maxBytes', 'maxHintAgeMs']) delete prototype[name];
  }
});

test('callbacks.handler() takes no option from Object.prototype', async () => {
  const prototype = Object.prototype as Record<string, unknown>;
  Object.assign(prototype, { replayGuard: {}, maxConfirmations: 0, phase: 'read' });
  try {
    expect(await startHandler().run()).toBe('0 ask, 0 hand, 0 200 accepted');
  } finally {
    for (const name of ['replayGuard', 'maxConfirmations', 'phase']) delete prototype[name];
  }
});

test('a handler of a lazy client without options responds with 503', async () => {
  const reported: unknown[] = [];
  const handle = HostedClient.fromEnv({ logger: silent }, { env: {}, lazy: true }).callbacks.handler({
    onEvent,
    onError: (error, at) => reported.push(error, at),
  });

  const response = await handle(post());

  expect([response.status, await response.text()]).toEqual([503, 'config']);
  expect(reported).toEqual([expect.any(HostedConfigError), { phase: 'verify', status: 503, event: null }]);
});
