/**
 * Tracing channels of `node:diagnostics_channel`, on platforms that have the module. The start and the end of a call
 * are published. The call runs within the `AsyncLocalStorage` stores that subscribers have bound to the channel.
 * Without subscribers, nothing is created.
 *
 * @module
 */

import { builtinModule } from './builtin-module.js';

/** The channels. The full name of each channel begins with `hosted-client:`, for example `hosted-client:call`. */
export type ChannelName = (typeof channelNames)[number];

const channelNames = ['call', 'wait', 'callback', 'delivery', 'batch'] as const;

/** The channel of one step of a trace, as `node:diagnostics_channel` creates it. */
interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: object): void;
  runStores(message: object, run: () => void): void;
  subscribe(subscriber: (message: object) => void): void;
  unsubscribe(subscriber: (message: object) => void): boolean;
}

type Steps = Readonly<Record<'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error', Channel>>;

/** A tracing channel of the platform: the five steps of a trace. */
export interface TracingChannel extends Steps {
  /** Whether any step has a subscriber. If none has, nothing needs to be published. */
  readonly hasSubscribers: boolean;
}

/** The message that is published. All steps publish the same object, which is complete at the last step. */
export interface TraceMessage {
  /** A short code for the error; null if there is no error so far. */
  errorCode: string | null;
  /**
   * If a subscriber of `start` has no `AsyncLocalStorage` to bind to the channel, it may set this function. The
   * function must call `run` at once, in the subscriber's own context.
   */
  [runInside]?: (run: () => void) => void;
}

/** The key of the function in {@link TraceMessage}. The key is the same in every copy of this package. */
export const runInside: unique symbol = Symbol.for('hosted-client:runInside') as typeof runInside;

/** The key of the part of a tracker that `instrument()` uses. The key is the same in every copy of this package. */
export const instruments: unique symbol = Symbol.for('hosted-client:instruments') as typeof instruments;

let channels: Readonly<Record<ChannelName, TracingChannel>> | null | undefined;

/** The channel of this name; null if the platform has none. */
export function openChannel(name: ChannelName): TracingChannel | null {
  if (channels === undefined) channels = openChannels();
  return channels?.[name] ?? null;
}

function openChannels(): Readonly<Record<ChannelName, TracingChannel>> | null {
  const module = builtinModule('diagnostics_channel') as { tracingChannel?(name: string): TracingChannel } | null;
  const tracingChannel = module?.tracingChannel;
  if (typeof tracingChannel !== 'function') return null;
  const open = (name: ChannelName) => {
    const channel = tracingChannel(`hosted-client:${name}`);
    // Not `in`: other code may have put a property of this name on `Object.prototype`.
    const isComplete = Object.hasOwn(Object.getPrototypeOf(channel), 'hasSubscribers');
    return isComplete ? channel : addSubscriberCheck(channel);
  };
  return Object.fromEntries(channelNames.map((name) => [name, open(name)])) as Record<ChannelName, TracingChannel>;
}

// The tracing channels of Bun lack this property.
function addSubscriberCheck(channel: Steps): TracingChannel {
  const { start, end, asyncStart, asyncEnd, error } = channel;
  const get = () => [start, end, asyncStart, asyncEnd, error].some(({ hasSubscribers }) => hasSubscribers);
  return Object.defineProperty(channel, 'hasSubscribers', { get }) as TracingChannel;
}

/**
 * Runs `run` within the contexts of the channel's subscribers, and publishes its steps. `run` must complete its message
 * before it settles, because the last steps are published as soon as it settles. Without a subscriber, the message is
 * null, and nothing is published.
 */
export function trace<Message extends TraceMessage, T>(
  name: ChannelName,
  describe: () => Message,
  run: (message: Message | null) => Promise<T>,
): Promise<T> {
  const channel = openChannel(name);
  return channel?.hasSubscribers ? traceOn(channel, describe(), run) : run(null);
}

/** Runs `run` as {@link trace} does, on a channel that has subscribers. */
export async function traceOn<Message extends TraceMessage, T>(
  channel: TracingChannel,
  message: Message,
  run: (message: Message) => Promise<T>,
): Promise<T> {
  let running: Promise<T> | undefined;
  const runOnce = () => {
    running ??= (async () => run(message))();
    return running;
  };
  const { start, end, error, asyncStart, asyncEnd } = channel;
  // The traced function runs exactly once, even if a subscriber fails.
  try {
    start.runStores(message, () => {
      if (Object.hasOwn(message, runInside)) message[runInside]?.(() => void runOnce());
      else void runOnce();
    });
  } catch {}
  end.publish(message);
  try {
    // Runs the function if no subscriber has run it. If a subscriber runs it later, nothing happens.
    return await runOnce();
  } finally {
    if (message.errorCode !== null) error.publish(message);
    asyncStart.publish(message);
    asyncEnd.publish(message);
  }
}

/**
 * Completes a message. If a subscriber has frozen the message, or has given it a setter that throws, the traced work
 * continues without an error.
 */
export function completeMessage<Message extends object>(message: Message, facts: Partial<Message>): void {
  try {
    Object.assign(message, facts);
  } catch {
    // A subscriber has frozen the message, or has given it a setter that throws.
  }
}

/** Returns a function that runs code within the contexts of now. */
export function snapshotContext(): <T>(run: () => T) => T {
  const hooks = builtinModule('async_hooks') as {
    readonly AsyncLocalStorage?: { snapshot?(): ReturnType<typeof snapshotContext> };
  } | null;
  return hooks?.AsyncLocalStorage?.snapshot?.() ?? ((run) => run());
}
