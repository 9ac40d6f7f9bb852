// What each promise needs: without this protection, the model breaks it.

import { explore } from './explore.ts';
import { createModel } from './model.ts';
import { type Settings, settings } from './settings.ts';

/** The promises of the model, which are sentences of the documentation. */
export const promises = {
  oneCompletion: 'Each tracked job gets a completion: `completed`, or `expired` after its deadline.',
  atLeastOnce: 'A completion is handed over at least once.',
  afterDeath: 'If a worker dies, its completions are handed over again after `handlerTimeoutMs` plus 30 to 40 s.',
  sameKey: 'Every delivery of a completion has the same `key`.',
  current: 'The status of a completion is current and verified.',
  deadLetters: 'After `maxAttempts` attempts, the completion becomes a dead letter, which is kept until it is handled.',
  attempts: 'An attempt counts when its handler begins.',
  ownEnd: 'The result of a handler changes only the completion that the handler received.',
  handledStays: 'A completion that was handled does not stay a dead letter.',
  notAgain: 'If it stores that the handler succeeded, the handler is not called again.',
  untracked: 'After that, its completion is no longer handed over.',
  callbacks: 'A callback only makes the tracker poll its job soon.',
  links:
    'After `trackLink(refId, { context })`, the tracker follows every job of the link that a callback names, and the job gets this context.',
  stops: 'The tracker then takes no new work, waits for running handlers, and closes the connections that it opened.',
  deadStays: 'Dead letters are not removed.',
  outages: 'No job fails because of a wrong key, an outage, or responses that cannot be verified.',
  lateErrors:
    'It expires with its error only after at least three polls have failed with the same error, over at least a day.',
  unknown: 'If the service does not know such a job, the job is polled at most ten times, and gets no completion.',
  context: 'A completion has the context of its own `track()` call or its own link.',
  doneStays: 'While a done job is stored, a callback about it or another `track()` only has its verdict compared.',
  changes: 'A verdict that changes is handed over again, as the next revision.',
  notBegun: 'A handler that could not begin in time uses up neither an attempt nor a revision.',
  order: 'No older status is handed over after a newer one.',
} as const;

/** A protection that a promise needs, and a setting in which the promise breaks without it. */
export const needed = [
  ['oneCompletion', 'only followed jobs end', 'links'],
  ['oneCompletion', 'a job expires only after its deadline', 'deadlines'],
  ['oneCompletion', 'a claim sets the date of the next poll', 'crashes'],
  ['atLeastOnce', 'a success compares the ends', 'two ends'],
  ['atLeastOnce', 'a success compares the ends', 'two deliveries in one process'],
  ['atLeastOnce', 'each end has an id of its own', 'two ends'],
  ['atLeastOnce', 'each end has an id of its own', 'retries'],
  ['atLeastOnce', 'each end has an id of its own', 'forgotten rows'],
  ['afterDeath', 'a lease ends', 'crashes'],
  ['sameKey', 'the key is made from both ids', 'retries'],
  ['current', 'the status is fetched before each delivery', 'changing results'],
  ['deadLetters', 'forget() removes no dead letter', 'forgotten rows'],
  ['deadLetters', 'nothing begins after the last attempt', 'crashes'],
  ['handledStays', 'a late success takes a dead letter back', 'attempts'],
  ['handledStays', 'a success after the time of the handler is stored', 'late successes'],
  ['attempts', 'an attempt is stored before its handler begins', 'attempts'],
  ['attempts', 'begin compares the leases', 'attempts'],
  ['ownEnd', 'a success compares the ends', 'two ends'],
  ['ownEnd', 'only the delivery that has the lease follows or buries', 'two ends'],
  ['ownEnd', 'each end has an id of its own', 'retries'],
  ['notAgain', 'only a completion that is handed over begins', 'attempts'],
  ['untracked', 'only a completion that is handed over begins', 'two ends'],
  ['lateErrors', 'an error after the deadline must last', 'outages'],
  ['lateErrors', 'an error after the deadline must stay the same', 'unknown jobs'],
  ['outages', 'an error counts only while other requests succeed', 'outages'],
  ['unknown', 'a job that only callbacks mentioned is given up', 'unknown jobs'],
  ['callbacks', 'a callback follows no job that has ended', 'unknown jobs'],
  ['links', 'a poll of the link follows missed jobs', 'links'],
  ['stops', 'a process that stops takes no new work', 'stops'],
  ['stops', 'stop() waits for running handlers', 'stops'],
  ['deadStays', 'forget() removes no dead letter', 'forgotten rows'],
  ['context', 'the first track() counts', 'two ends'],
  ['context', 'the link of the verified status counts', 'links'],
  ['context', 'only jobs of the polled link end', 'links'],
  ['context', 'a compared poll ends a job of the verified link', 'links'],
  ['context', 'a status that names no link proves none', 'links'],
  ['context', 'a link that is tracked later gives its context', 'links of unknown jobs'],
  ['doneStays', 'track() changes no job that has ended', 'two ends'],
  ['changes', 'a callback is remembered while a handler runs', 'verdicts'],
  ['notBegun', 'a handler that did not begin gives its revision back', 'verdicts'],
  ['order', 'another version must be signed later', 'verdicts'],
] as const satisfies readonly (readonly [promise: keyof typeof promises, without: string, setting: string])[];

/** What keeps a promise. A test takes each one out of the model, and the model breaks the promise. */
export type Protection = (typeof needed)[number][1];

/** The setting of a name. */
export function settingOf(name: string): Settings {
  const setting = settings.find((one) => one.name === name);
  if (!setting) throw new Error(`no setting is called "${name}"`);
  return setting;
}

/** Explores the model without a protection, for one promise alone. */
export function exploreWithout([promise, without, name]: readonly [keyof typeof promises, Protection, string]) {
  const model = createModel({ ...settingOf(name), without });
  return explore({ ...model, promises: model.promises.filter((one) => one.name === promises[promise]) });
}
