/**
 * The controls over HTTP, for test suites in other languages.
 *
 * @module
 */

import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { parseJson, withoutUndefined } from '../runtime/untrusted-objects.js';
import type { MockFault } from '../testing/types.js';
import { inputObject } from '../validation/check.js';
import { integer } from '../validation/input.js';
import { checkInput, failNextInput, playInput, resendInput } from './input.js';
import type { Simulation } from './simulation.js';
import type { Sandbox } from './types.js';

/** Makes the next requests fail. */
export function failNext({ service }: Pick<Sandbox, 'service'>, input: unknown): void {
  const { environment = 'sandbox', operation, fault, times } = checkInput(failNextInput, input);
  const own = fault.kind === 'status' ? withoutUndefined(fault) : { kind: fault.kind };
  service[environment].failNext(operation, own as MockFault, times);
}

/** What can be done with an entry of a list: over HTTP, and on the page of the entry, which says then what was done. */
export const entryActs = [
  { list: 'requests', name: 'replay', done: 'replayed', run: ({ replay }: Sandbox, id: number) => replay(id) },
  { list: 'callbacks', name: 'retry', done: 'retried', run: ({ retryNow }: Sandbox, id: number) => retryNow(id) },
  { list: 'callbacks', name: 'stop', done: 'stopped', run: ({ stopTrying }: Sandbox, id: number) => stopTrying(id) },
  {
    list: 'callbacks',
    name: 'resend',
    done: 'resent',
    run: async ({ resend }: Sandbox, id: number, input: unknown) =>
      resend(id, withoutUndefined(checkInput(resendInput, input))),
  },
] as const;

/** Creates the routes `/control/…`. */
export function createControls(sandbox: Sandbox, { copyNewestLink }: Pick<Simulation, 'copyNewestLink'>): Hono {
  const app = new Hono();

  app.use('/control/*', async (c, next) => {
    const isJson = /^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? '');
    if (c.req.method === 'POST' && !isJson) return c.json({ error: 'Send "content-type: application/json"' }, 415);
    return next();
  });

  app.get('/control/requests', (c) => c.json(after(sandbox.requests, c.req.query('after'))));
  app.get('/control/callbacks', (c) => c.json(after(sandbox.callbacks, c.req.query('after'))));

  app.post('/control/play', async (c) => {
    const { refId, outcome, ...options } = checkInput(playInput, parseBody(await c.req.text()));
    const played = refId ?? copyNewestLink(options.environment ?? 'sandbox');
    return c.json(await sandbox.play(played, outcome, withoutUndefined(options)));
  });

  const known = async (c: Context, entries: readonly { readonly id: number }[], act: (id: number) => unknown) => {
    const id = Number(c.req.param('id'));
    const [, , list] = c.req.path.split('/');
    if (entries.some((entry) => entry.id === id)) {
      const result = await act(id);
      return result === undefined ? c.body(null, 204) : c.json(result as object);
    }
    return c.json({ error: `No remembered entry has this id: see GET /control/${list}` }, 404);
  };

  for (const { list, name, run } of entryActs) {
    app.post(`/control/${list}/:id/${name}`, (c) =>
      known(c, sandbox[list], async (id) => run(sandbox, id, parseBody(await c.req.text()))),
    );
  }
  app.get('/control/faults', (c) => c.json(sandbox.faults));
  app.delete('/control/faults', (c) => {
    for (const { id } of sandbox.faults) sandbox.cancelFault(id);
    return c.body(null, 204);
  });
  app.get('/control/faults/:id', (c) =>
    known(c, sandbox.faults, (id) => sandbox.faults.find((each) => each.id === id)),
  );
  app.delete('/control/faults/:id', (c) => known(c, sandbox.faults, (id) => sandbox.cancelFault(id)));

  app.post('/control/fail-next', async (c) => {
    failNext(sandbox, parseBody(await c.req.text()));
    return c.body(null, 204);
  });

  app.post('/control/reset', async (c) => {
    await sandbox.reset();
    return c.body(null, 204);
  });

  return app;
}

/** Parses a JSON body. An empty body counts as `{}`. */
function parseBody(text: string): unknown {
  return text.trim() === '' ? {} : (parseJson(text) ?? null);
}

/**
 * Returns the entries whose id is greater than `id`. If `id` is undefined, returns all entries.
 *
 * @throws {HostedValidationError} when `id` is not an integer of 0 or more.
 */
function after<T extends { readonly id: number }>(entries: readonly T[], id: string | undefined): readonly T[] {
  if (id === undefined) return entries;
  const number = checkInput(inputObject({ after: integer(0) }), {
    after: /^\d{1,15}$/.test(id) ? Number(id) : id,
  }).after;
  return entries.filter((entry) => entry.id > number);
}
