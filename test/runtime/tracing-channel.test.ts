// Tracing on platforms and with subscribers that do not what they should.

import { channel, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  openChannel,
  runInside,
  snapshotContext,
  type TraceMessage,
  type TracingChannel,
  traceOn,
} from '../../src/runtime/tracing-channel.js';

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

const message = (): TraceMessage => ({ errorCode: null });

/** A channel whose first step does this with what it is to run. */
function channelOf(runStores: (message: object, run: () => void) => void): TracingChannel {
  const step = { hasSubscribers: true, publish: vi.fn(), runStores, subscribe: vi.fn(), unsubscribe: vi.fn() };
  return { start: step, end: step, asyncStart: step, asyncEnd: step, error: step, hasSubscribers: true };
}

test.each<[string, (message: object, run: () => void) => void]>([
  ['runs it', (_message, run) => run()],
  ['runs it twice', (_message, run) => [run(), run()]],
  ['does not run it', () => undefined],
  [
    'throws before',
    () => {
      throw new Error('before');
    },
  ],
  [
    'throws afterwards',
    (_message, run) => {
      run();
      throw new Error('afterwards');
    },
  ],
])('what is traced runs once where a store %s', async (_what, runStores) => {
  const run = vi.fn(async () => 'its value');

  expect(await traceOn(channelOf(runStores), message(), run)).toBe('its value');
  expect(run).toHaveBeenCalledTimes(1);
});

test('what is traced runs once where a store runs it later', async () => {
  let runLater: (() => void) | undefined;
  const run = vi.fn(async () => 'its value');
  const channel = channelOf((_message, start) => {
    runLater = start;
  });

  const value = await traceOn(channel, message(), run);
  runLater?.();

  expect(value).toBe('its value');
  expect(run).toHaveBeenCalledTimes(1);
});

test('what is traced and throws rejects, and runs once', async () => {
  const error = new Error('of its own');
  const run = vi.fn(() => {
    throw error;
  });

  await expect(
    traceOn(
      channelOf((_message, start) => start()),
      message(),
      run,
    ),
  ).rejects.toBe(error);
  expect(run).toHaveBeenCalledTimes(1);
});

test('a subscriber of the start may run what is traced in a context of its own', async () => {
  const order: string[] = [];
  const channel = tracingChannel('hosted-client:call');
  const subscriber = (given: unknown) => {
    (given as TraceMessage)[runInside] = (run) => {
      order.push('before');
      run();
      order.push('after');
    };
  };
  channel.start.subscribe(subscriber);
  onTestFinished(() => channel.start.unsubscribe(subscriber));

  const observed = openChannel('call');
  await traceOn(observed as TracingChannel, message(), async () => void order.push('run'));

  expect(order).toEqual(['before', 'run', 'after']);
});

test('nothing is observed before a subscription, after its end, and on a platform without the module', async () => {
  expect(openChannel('wait')?.hasSubscribers).toBe(false);
  const channel = tracingChannel('hosted-client:wait');
  const subscriber = () => undefined;
  channel.asyncEnd.subscribe(subscriber);
  expect(openChannel('wait')?.hasSubscribers).toBe(true);
  expect(openChannel('call')?.hasSubscribers).toBe(false);

  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  const { openChannel: openOnPlatform } = await importAnew();
  expect(openOnPlatform('wait')).toBeNull();

  channel.asyncEnd.unsubscribe(subscriber);
  expect(openChannel('wait')?.hasSubscribers).toBe(false);
});

test.each(['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const)(
  'a subscriber of %s is noticed where tracing channels do not say so themselves',
  async (step) => {
    const steps = () => ({
      start: channel('test:start'),
      end: channel('test:end'),
      asyncStart: channel('test:asyncStart'),
      asyncEnd: channel('test:asyncEnd'),
      error: channel('test:error'),
    });
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ tracingChannel: steps } as never);
    const { openChannel: openOnPlatform } = await importAnew();
    const opened = openOnPlatform('call');
    const subscriber = () => undefined;

    const before = opened?.hasSubscribers;
    subscribe(`test:${step}`, subscriber);
    const during = opened?.hasSubscribers;
    unsubscribe(`test:${step}`, subscriber);

    expect([before, during, opened?.hasSubscribers]).toEqual([false, true, false]);
  },
);

test.each<[string, unknown]>([
  ['async_hooks', undefined],
  ['AsyncLocalStorage', {}],
  ['snapshot()', { AsyncLocalStorage: class {} }],
])('without %s the parts of a trace run all the same', (_missing, module) => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(module as never);

  expect(snapshotContext()(() => 1)).toBe(1);
});

test.each(['call', 'wait', 'callback', 'delivery', 'batch'] as const)('the channel of a %s has its name', (name) => {
  const subscriber = () => undefined;
  const channel = tracingChannel(`hosted-client:${name}`);
  channel.start.subscribe(subscriber);

  expect(openChannel(name)?.hasSubscribers).toBe(true);

  channel.start.unsubscribe(subscriber);
});

function importAnew(): Promise<typeof import('../../src/runtime/tracing-channel.js')> {
  vi.resetModules();
  return import('../../src/runtime/tracing-channel.js');
}
