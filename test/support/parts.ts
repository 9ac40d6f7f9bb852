/** Calls that are made as parts of something larger, as a wait and the confirmation of a callback make them. */

import type { HostedClientOptions } from 'hosted-client';
import type { Repeater } from '../../src/call/attempt.js';
import { createCall } from '../../src/call/call.js';
import { createClockSkew } from '../../src/call/clock-skew.js';
import { createTelemetry } from '../../src/events.js';
import { jobStatus } from '../../src/jobs/operations.js';
import { checkOptions, createSettings } from '../../src/settings.js';
import { optionsOf, type Reply, serviceOf } from './fake-fetch.js';
import { passingClock } from './honest-service.js';

/** Polls for one job, on a clock that passes, of a service that does not echo timestamps. */
export function partsOf(replies: Reply | readonly Reply[], options: Partial<HostedClientOptions> = {}) {
  const service = serviceOf(replies);
  const wire = { echoesTimestamp: false, ...options.wire };
  const settings = createSettings(checkOptions(optionsOf(service, { clock: passingClock(), ...options, wire })));
  const call = createCall(settings, {
    telemetry: createTelemetry(undefined, undefined),
    skew: createClockSkew('auto'),
    random: () => 0,
  });
  const query = { userId: 'user-1', jobId: 'job-1' };
  return {
    poll: (repeater?: Repeater) => call(jobStatus, query, undefined, repeater).withResponse(),
    sent: service.sent,
  };
}
