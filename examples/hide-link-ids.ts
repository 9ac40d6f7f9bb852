/** An instrumentation of the platform's fetch whose spans do not have the ids of links. */

import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';

export const undici = new UndiciInstrumentation({
  startSpanHook: ({ origin }) => ({ 'url.full': origin, 'url.path': '/' }),
});
