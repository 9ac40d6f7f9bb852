/** What a subscriber of the tracing channels sees. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';

type Step = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

export interface Seen {
  readonly channel: string;
  readonly step: Step;
  /** The message at that step. */
  readonly message: Readonly<Record<string, unknown>>;
  /** The message itself, which is one object from its start to its end. */
  readonly identity: object;
}

const steps: readonly Step[] = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

/** Subscribes to channels until the test ends; `inside` gives the messages that the code that asks runs in. */
export function subscribeTo(...names: readonly string[]) {
  const seen: Seen[] = [];
  const store = new AsyncLocalStorage<readonly object[]>();
  for (const name of names) {
    const channel: TracingChannel<object, object> = tracingChannel(`hosted-client:${name}`);
    const handlers = Object.fromEntries(
      steps.map((step) => [
        step,
        (message: object) => void seen.push({ channel: name, step, message: { ...message }, identity: message }),
      ]),
    ) as Record<Step, (message: object) => void>;
    channel.subscribe(handlers);
    channel.start.bindStore(store, (message) => [...(store.getStore() ?? []), message]);
    onTestFinished(() => {
      channel.unsubscribe(handlers);
      channel.start.unbindStore(store);
    });
  }
  return {
    seen,
    inside: () => store.getStore() ?? [],
    /** The messages as they are at their ends. */
    ended: (name: string) =>
      seen.filter(({ channel, step }) => channel === name && step === 'asyncEnd').map(({ message }) => message),
  };
}
