/**
 * Calls a replay guard, which may be the caller's own: each call has a time limit, and only what `begin` says decides
 * over a delivery.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import { callbackFacts, createStepError } from './callback-errors.js';
import { limitStep, maxStepMs } from './limit-step.js';
import type { HandlerSettings } from './options.js';
import type { DeliveryReports } from './reports.js';
import type { JobEvent, ReplayGuard } from './types.js';

/** How often, in ms, a guard is asked again whose lease has another delivery. */
const busyMs = 500;
/**
 * How long, in ms, a version is remembered at least. A callback about a job that was forgotten may be answered by a status
 * that lags, and its change is then lost, so a job is remembered for longer than a review takes.
 */
const minKeepMs = 30 * 24 * 60 * 60 * 1000;

const timedOut = () => createStepError('replay guard');

/** Creates the calls of a guard for one handler. `job` is the digest of the job's ids. */
export function createGuardCalls(
  guard: ReplayGuard,
  { leaseMs, maxHintAgeMs }: Pick<HandlerSettings, 'leaseMs' | 'maxHintAgeMs'>,
  { clock, warn }: Pick<DeliveryReports, 'clock' | 'warn'>,
) {
  const keepMs = Math.max(minKeepMs, 2 * maxHintAgeMs);
  // A failure is only logged: what the service gets was decided before.
  const end = (step: 'commit' | 'forget', result: string) => (job: string, version: JobEvent) =>
    limitStep(clock, timedOut, () => guard[step](job, versionOf(version))).catch(() =>
      warn(`the replay guard failed after a callback was ${result}`),
    );
  const forget = end('forget', 'not handled');

  return {
    /**
     * Begins to hand over a version. While another delivery has the lease, asks again until ten seconds after `begunAt`.
     *
     * @throws the error that the guard throws.
     * @throws {HostedTimeoutError} when the guard does not respond. If it gives the lease later, the lease is given back.
     */
    async begin(job: string, version: JobEvent, begunAt: number): Promise<'new' | 'known' | 'older' | 'busy'> {
      const ask = () => guard.begin(job, versionOf(version), leaseMs, keepMs);
      for (;;) {
        const known = await limitStep(clock, timedOut, ask, (late) => late === 'new' && forget(job, version));
        if (known === 'new' || known === 'known' || known === 'older') return known;
        // If the guard returns anything else, this delivery must not hand over.
        if (known !== 'busy') throw new HostedConfigError([{ path: 'replayGuard', message: mustSay }], callbackFacts);
        if (clock.elapsed() + busyMs > begunAt + maxStepMs) return 'busy';
        await clock.sleep(busyMs);
      }
    },
    // Commits even if the lease has ended: the version was handed over, and must not be handed over again.
    commit: end('commit', 'handled'),
    forget,
  };
}

const mustSay = 'must return "new", "known", "older" or "busy" from begin()';

/** What a guard gets of an event: a copy, because the guard may be the caller's own code. */
function versionOf({ id, signedAt }: JobEvent) {
  return { id, signedAt: new Date(signedAt) };
}
