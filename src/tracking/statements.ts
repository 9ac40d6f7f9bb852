/**
 * The SQL statements of the tracker. They use only the clock of the database, so the clocks of processes may differ.
 * Times are passed as milliseconds, because drivers read dates in different ways. Lists are passed as JSON, because
 * every driver sends JSON unchanged. Updates find their rows by `key = any(array)`. With only a join on the list,
 * PostgreSQL might read the whole table.
 *
 * @module
 */

import type { StoredSettings } from './options.js';
import { createCallbackStatements } from './statements/callbacks.js';
import { createDeliveryStatements } from './statements/deliveries.js';
import { createExpressions } from './statements/expressions.js';
import { createFleetStatements } from './statements/fleet.js';
import { createJobStatements } from './statements/jobs.js';
import { createPollStatements } from './statements/polls.js';

/** The SQL of all statements on a schema. */
export type Statements = ReturnType<typeof createStatements>;

/** Creates the SQL of all statements on a schema. */
export function createStatements(settings: StoredSettings) {
  const expressions = createExpressions(settings);
  return {
    ...createJobStatements(settings, expressions),
    ...createCallbackStatements(settings, expressions),
    ...createPollStatements(settings, expressions),
    ...createDeliveryStatements(settings, expressions),
    ...createFleetStatements(settings, expressions),
  };
}
