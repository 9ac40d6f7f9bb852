/**
 * Receives callbacks, in seven steps: read, verify, admit, take the job's turn, ask for its status, compare, hand over
 * (docs/protocol.md §6). A callback is a hint that a job has changed. What changed is what its signed status says.
 *
 * @module
 */

import type { Repeater } from '../call/attempt.js';
import { onceItSucceeds, type StartedClient } from '../call/call.js';
import type { Telemetry } from '../events.js';
import { jobStatus } from '../jobs/operations.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import { resultsOf } from '../jobs/version.js';
import type { CallOptions } from '../options.js';
import { createPlatformClock, durationSince } from '../runtime/clock.js';
import { createAdmission } from './admission.js';
import { createBusyError, createLimitError, createPendingError } from './callback-errors.js';
import { answersHint, createEvent, createOldError, digestOfJob, isTooOld, settlingMs } from './confirm.js';
import { createGuardCalls } from './guard.js';
import { createIntake } from './intake.js';
import { createMemoryGuard } from './memory-guard.js';
import type { HandlerSettings } from './options.js';
import { readHint } from './read-hint.js';
import {
  type CallbackReport,
  codeOf,
  createDeliveryReports,
  createFailure,
  type DeliveryReports,
  type DeliveryResult,
  isFailure,
  traceDelivery,
} from './reports.js';
import { createRequestQueue } from './request-queue.js';
import { isWebRequest, refuseRequest, respond, respondNotWrapped, toFailure } from './responses.js';
import { createTurns, type Turn } from './turns.js';
import type { CallbackHandler, CallbackHint, JobEvent } from './types.js';

/** The parts that all handlers of one client share. */
export type Receiver = ReturnType<typeof createReceiver>;

/** Creates the parts that receive the callbacks of one client. */
export function createReceiver({ call, settings, telemetry }: StartedClient) {
  const { clock } = settings;
  return {
    client: settings,
    reports: createDeliveryReports(telemetry, clock),
    intake: createIntake(clock),
    admit: createAdmission(),
    requests: createRequestQueue(clock),
    /** The replay guard of callers who pass none. */
    memory: createMemoryGuard(clock),
    /** Fetches job status with history. */
    fetchStatus: ({ userId, jobId }: JobRef, options?: CallOptions, repeater?: Repeater) =>
      call(jobStatus, { userId, jobId, history: true }, options, repeater),
  };
}

/**
 * Creates a handler, which never rejects. If `open` throws, because the options of a lazy client are missing or invalid,
 * the handler reports to `unstarted`.
 */
export function createHandler(
  settings: HandlerSettings,
  { open, unstarted }: { readonly open: () => Receiver; readonly unstarted: Telemetry },
): CallbackHandler {
  const deliver = onceItSucceeds(() => createDelivery(settings, open()));
  return async (request: Request, other?: unknown) => {
    const report = await traceDelivery(() => receive(request));
    return isWebRequest(request) ? respond(report) : respondNotWrapped(other, report.status);
  };

  async function receive(request: Request): Promise<CallbackReport> {
    let reports: DeliveryReports | undefined;
    let startedAt: number | undefined;
    let result: DeliveryResult;
    try {
      reports = open().reports;
      // The clock is read first: if it failed later, reading the body would time out at once, with a 408 response.
      startedAt = reports.clock.elapsed();
      result = await deliver()(request);
    } catch (error) {
      // Without reports, the client has not started.
      reports ??= createDeliveryReports(unstarted, createPlatformClock());
      // The service redelivers the callback, and the options of a lazy client may be there by then.
      result = createFailure('verify', 503, codeOf(error), error);
    }
    return reports.report(result, durationSince(startedAt, reports.clock), settings.onError);
  }
}

/** What a turn comes to, for the deliveries that have joined it. */
interface TurnResult {
  resultOf(hint: CallbackHint): DeliveryResult;
  /** Whether the status may lag behind the deliveries, so that another one may change the result. */
  readonly mayLag: boolean;
}

/** Creates the function that handles the deliveries of callbacks. */
function createDelivery(settings: HandlerSettings, receiver: Receiver) {
  const { client, intake, admit, requests, reports } = receiver;
  const { clock } = client;
  const { onEvent, storeHint } = settings;
  const guard = createGuardCalls(settings.replayGuard ?? receiver.memory, settings, reports);
  const turns = createTurns<TurnResult>(clock, requests, settings.maxConfirmations);

  return async (request: Request): Promise<DeliveryResult> => {
    const refused = refuseRequest(request);
    if (refused) return refused;
    // 1. Read, and 2. verify.
    let phase: 'read' | 'verify' = 'read';
    const verify = (bytes: Uint8Array) => {
      phase = 'verify';
      return readHint(bytes, settings, client);
    };
    const signed = await intake.read(request, settings, verify).catch((error) => toFailure(phase, error));
    if (isFailure(signed)) return signed;
    const { hint } = signed;
    if (storeHint) {
      const failToStore = (error: unknown) => createFailure('guard', 503, codeOf(error), error, hint);
      return storeHint(hint).then(() => accepted, failToStore);
    }
    // 3. Admit.
    const job = await digestOfJob(hint, client);
    const leave = admit(signed, job, settings.maxJobsPerSignature);
    if (leave === null) return createFailure('guard', 503, 'limit', createLimitError(), hint);
    try {
      // 4. Take the job's turn. The turn does the other steps.
      const { resultOf } = await turns.take(job, hint, (turn) => runTurn(job, turn));
      return resultOf(hint);
    } catch (error) {
      return createFailure('guard', 503, 'busy', error, hint);
    } finally {
      leave();
    }
  };

  async function runTurn(job: string, turn: Turn): Promise<TurnResult> {
    const first = await confirm(job, turn, 'first');
    if (!first.mayLag) return first;
    // A change between the two is signed more than two seconds after the first.
    await clock.sleep(settlingMs(turn.hint) + 1);
    return confirm(job, turn, 'second');
  }

  async function confirm(job: string, turn: Turn, request: 'first' | 'second'): Promise<TurnResult> {
    const { hint, hints } = turn;
    let phase: 'confirm' | 'guard' = 'confirm';
    try {
      // 5. Ask.
      // Without retries: if this fails, the callback is redelivered.
      const status = await turn.ask(() => receiver.fetchStatus(hint, undefined, { issues: null }));
      // 6. Compare, with what the deliveries say, and then with what was handed over.
      const event = await createEvent(status, client);
      const pending = status.complete ? null : status;
      const isOld = (each: CallbackHint) => isTooOld(event, each, client);
      // What answers one delivery may not answer another.
      const finish = (result: DeliveryResult, mayLag = false): TurnResult => ({
        resultOf(each) {
          if (isFailure(result)) return result;
          if (isOld(each)) return createFailure('confirm', 503, 'stale', createOldError(), each);
          if (!pending || !each.isFinal) return result;
          return createFailure('confirm', 503, 'pending', createPendingError(each, pending), each);
        },
        mayLag,
      });
      const isEarly = hints.some((each) => isOld(each) || (pending && each.isFinal));
      if (hints.every(isOld) || (isEarly && request === 'first')) return finish(repeat, true);
      if (pending && resultsOf(pending).length === 0) return finish(repeat);
      phase = 'guard';
      const begun = await guard.begin(job, event, turn.begunAt);
      if (begun === 'known') return finish(repeat, !answersHint(event, hint, client));
      if (begun === 'older') return fail('confirm', 'older', createOldError(wasReplaced), true);
      if (begun === 'busy') return fail('guard', 'busy', createBusyError('another process is handling its job'));
      // 7. Hand over.
      return finish(await handOver(job, event, status, turn));
    } catch (error) {
      return fail(phase, phase === 'guard' ? 'guard' : codeOf(error), error);
    }
  }

  async function handOver(job: string, event: JobEvent, status: JobStatus, turn: Turn): Promise<DeliveryResult> {
    let cancelTimer = () => {};
    try {
      cancelTimer = clock.setTimer(settings.leaseMs, turn.letGo);
      // A copy, because the caller may change it.
      await onEvent({ ...event, signedAt: new Date(event.signedAt) }, status);
    } catch (error) {
      await guard.forget(job, event);
      return createFailure('handle', 500, 'handler', error, event);
    } finally {
      cancelTimer();
    }
    await guard.commit(job, event);
    return accepted;
  }
}

const accepted: DeliveryResult = { status: 200, result: 'accepted' };
const repeat: DeliveryResult = { status: 200, result: 'repeat' };
const wasReplaced = 'it is older than what was handed over';

/** The result of a turn that has to be tried again when the service redelivers. */
function fail(phase: 'confirm' | 'guard', reason: string, error: unknown, mayLag = false): TurnResult {
  return { resultOf: (hint) => createFailure(phase, 503, reason, error, hint), mayLag };
}
