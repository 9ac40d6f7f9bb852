/**
 * Receives callbacks. The client verifies each callback. Then one statement stores the callback. If the job is
 * followed, the same statement also makes its next poll due soon. The body of a callback is not signed, so its result
 * is not used. Only the ids in the body are stored.
 *
 * @module
 */

import { createBusyError, createJobLimitError, notStored } from '../callbacks/callback-errors.js';
import type { CallbackEvent, CallbackHandler, ReplayGuard } from '../callbacks/types.js';
import { HostedResponseError } from '../errors/errors.js';
import { assumedMaxHintAgeMs, assumedMaxJobs } from '../protocol/assumptions.js';
import { type Context, textOf } from './context.js';
import { isRefId, isStorableId } from './input.js';
import { createKey } from './keys.js';

/** Receives callbacks. */
export interface CallbackDoor {
  receive(body: string | Uint8Array, options: { readonly maxBytes?: number | undefined }): Promise<CallbackEvent>;
  handler(options: { readonly maxBytes?: number | undefined }): CallbackHandler;
}

// This guard rejects no callback, because the table shows whether a callback is a repeat. A second body with the same
// signature is accepted too.
const everyOneIsNew: ReplayGuard = {
  begin: async () => 'new',
  commit: async () => {},
  forget: async () => {},
};

/**
 * Creates the receiver. It calls `heard` after each callback that was stored. `findTrace` gives the trace context of a
 * callback.
 */
export function createCallbackDoor(context: Context, heard: () => void, findTrace: () => string | null): CallbackDoor {
  const { settings, database, statements } = context;
  const { callbacks, environment } = settings.client;

  function optionsOf({ maxBytes }: { readonly maxBytes?: number | undefined }) {
    return { maxAgeMs: assumedMaxHintAgeMs, replayGuard: everyOneIsNew, ...(maxBytes !== undefined && { maxBytes }) };
  }

  /**
   * Stores a callback. Resolves with true if the callback's job had already ended.
   *
   * @throws {HostedSignatureError} when the callback is not stored, because it names one job too many.
   */
  async function keep({ userId, jobId, linkId, signedAt }: CallbackEvent): Promise<boolean> {
    const key = await createKey(environment, ['job', userId, jobId]);
    const refId = isRefId(linkId) ? linkId : null;
    const linkKey = refId === null ? null : await createKey(environment, ['link', refId]);
    // A callback without a readable date has been rejected as stale.
    const signedMs = signedAt?.getTime() ?? 0;
    const maxJobs = signedMs % 1_000 === 0 ? assumedMaxJobs.perSecond : assumedMaxJobs.perTime;
    const values = [key, userId, jobId, refId, linkKey, signedMs, maxJobs, findTrace()];
    const [row] = await database.run(statements.hear, values);
    const refusal = row ? textOf(row, 'refusal') : null;
    if (refusal === 'time') throw createJobLimitError();
    if (refusal === 'full') throw createBusyError(tooMany);
    if (row?.is_written === true) heard();
    return row?.has_ended === true;
  }

  return {
    async receive(body, options) {
      const event = await callbacks.receive(body, optionsOf(options));
      if (!canBeStored(event)) throw createShapeError();
      return { ...event, repeat: await keep(event) };
    },
    handler(options) {
      return callbacks.handler({
        ...optionsOf(options),
        confirm: false,
        onEvent: async (event) => {
          // Ids that cannot be stored belong to no job, because no request can contain them.
          if (!canBeStored(event)) return;
          await keep(event).catch((error: unknown) => {
            throw { [notStored]: error };
          });
        },
      });
    },
  };
}

const tooMany = 'too many jobs that only callbacks have mentioned wait for their first poll';

function canBeStored({ userId, jobId }: CallbackEvent): boolean {
  return isStorableId(userId) && isStorableId(jobId);
}

function createShapeError(): HostedResponseError {
  const issues = [
    { path: 'PartnerParams', message: 'must have ids without NUL, an unpaired surrogate, or U+FEFF at the start' },
  ];
  return new HostedResponseError('shape', issues, { operation: null, task: 'receive a callback', outcome: 'answered' });
}
