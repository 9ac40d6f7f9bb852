/**
 * Warns of new links that the service accepts, but that are probably mistakes.
 *
 * @module
 */

import type { StartedClient } from '../call/call.js';
import { ignoreErrors } from '../events.js';
import { findCallbackUrlProblem } from '../protocol/http-url.js';
import type { NewLink } from './types.js';

type Client = Pick<StartedClient, 'settings' | 'telemetry'>;

/** Says what is probably a mistake; a value that is not a string if nothing is. It may throw if the link is invalid. */
type FindMistake = (link: Partial<NewLink<string>>, settings: Client['settings']) => unknown;

const mistakes: readonly FindMistake[] = [
  // §4.1: `enhanced_kyc` jobs fail without a valid callback URL.
  ({ callbackUrl, idTypes }) =>
    callbackUrl === null &&
    idTypes?.some(({ verificationMethod }) => verificationMethod === 'enhanced_kyc') &&
    'a link for enhanced_kyc has no callbackUrl, so it relies on the default callback URL of the account',
  // §2.2: only a single-use link has a user.
  ({ userId, isSingleUse }) =>
    userId !== undefined &&
    isSingleUse !== true &&
    'a link has a userId, but not isSingleUse: true, so its results come under another user id: only a single-use link keeps its userId',
  ({ callbackUrl }, { baseUrls }) => {
    const problem = callbackUrl && findCallbackUrlProblem(String(callbackUrl), baseUrls.links);
    return problem && `the callbackUrl of a link ${problem}`;
  },
  ({ expiresAt }, { clock }) =>
    expiresAt !== undefined &&
    new Date(expiresAt).getTime() <= clock.now() &&
    'the expiresAt of a link is in the past, so the link cannot be used',
];

/** Creates a function that logs the probable mistakes in new links, each kind of mistake once. */
export function createLinkWarnings() {
  const logged = new Set<FindMistake>();
  return (link: Partial<NewLink<string>>, { settings, telemetry }: Client) => {
    for (const find of mistakes) {
      ignoreErrors(() => {
        const mistake = logged.has(find) ? null : find(link, settings);
        if (typeof mistake !== 'string') return;
        logged.add(find);
        telemetry.warn(mistake);
      });
    }
  };
}
