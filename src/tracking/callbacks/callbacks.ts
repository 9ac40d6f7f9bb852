/**
 * Receives callbacks. The client verifies each callback. Then one statement stores the callback. If the job is
 * followed, the same statement also makes its next poll due soon. The body of a callback is not signed, so its result
 * is not used. Only the ids in the body are stored.
 *
 * @module
 */

import { createLimitError } from '../../callbacks/callback-errors.js';
import { storeHint } from '../../callbacks/options.js';
import type { CallbackHandler, CallbackHint, HandlerOptions } from '../../callbacks/types.js';
import { HostedResponseError } from '../../errors/client-errors.js';
import { assumedMaxJobs } from '../../protocol/assumptions.js';
import { withoutUndefined } from '../../runtime/untrusted-objects.js';
import { isSet, textOf } from '../columns.js';
import type { Context } from '../context.js';
import { isRefId, isStorableId, type readReceiveOptions } from '../input.js';

type ReceiveOptions = ReturnType<typeof readReceiveOptions>;

/**
 * Creates the receiver. It calls `onStored` after each callback that was stored. `findTrace` gives the trace context of a
 * callback.
 */
export function createCallbackIntake(context: Context, onStored: () => void, findTrace: () => string | null) {
  const { settings, database, statements, keyOf } = context;
  const { callbacks } = settings.client;

  /** @throws {HostedSignatureError} when the callback is not stored, because it names one job too many. */
  async function keep({ userId, jobId, linkId, signedAt }: CallbackHint): Promise<void> {
    const key = await keyOf(['job', userId, jobId]);
    const refId = isRefId(linkId) ? linkId : null;
    const linkKey = refId === null ? null : await keyOf(['link', refId]);
    const signedMs = signedAt.getTime();
    const maxJobs = signedMs % 1_000 === 0 ? assumedMaxJobs.perSecond : assumedMaxJobs.perTime;
    const values = [key, userId, jobId, refId, linkKey, signedMs, maxJobs, findTrace()];
    const [row] = await database.run(statements.storeCallback, values);
    const refusal = row ? textOf(row, 'refusal') : null;
    if (refusal === 'time') throw createLimitError('its signature was used for too many different jobs');
    if (refusal === 'full') throw createLimitError(tooMany);
    if (row && isSet(row, 'is_written')) onStored();
  }

  return {
    async receive(body: string | Uint8Array, options: ReceiveOptions): Promise<CallbackHint> {
      const hint = await callbacks.receive(body, withoutUndefined(options));
      if (!canBeStored(hint)) throw createShapeError();
      await keep(hint);
      return hint;
    },
    handler(options: ReceiveOptions): CallbackHandler {
      const store = async (hint: CallbackHint) => {
        // Ids that cannot be stored belong to no job, because no request can contain them.
        if (canBeStored(hint)) await keep(hint);
      };
      return callbacks.handler({ ...withoutUndefined(options), [storeHint]: store } as unknown as HandlerOptions);
    },
  };
}

const tooMany = 'too many jobs that only callbacks have mentioned wait for their first poll';

function canBeStored({ userId, jobId }: CallbackHint): boolean {
  return isStorableId(userId) && isStorableId(jobId);
}

function createShapeError(): HostedResponseError {
  const issues = [
    { path: 'PartnerParams', message: 'must have ids without NUL, an unpaired surrogate, or U+FEFF at the start' },
  ];
  return new HostedResponseError('shape', issues, { operation: null, task: 'receive a callback', outcome: 'answered' });
}
