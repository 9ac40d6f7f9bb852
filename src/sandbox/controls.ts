/**
 * The controls over HTTP, for test suites in other languages.
 *
 * @module
 */

import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/errors.js';
import type { IdType } from '../links/types.js';
import { type Environment, environments } from '../options.js';
import { type OperationName, routes } from '../protocol/routes.js';
import { parseJson } from '../runtime/untrusted-objects.js';
import type { MockFault } from '../testing/types.js';
import { check, inputObject } from '../validation/check.js';
import { anyString, choice, integer, stringOf } from '../validation/input.js';
import { faultTexts, variants } from './faults.js';
import { outcomeNames } from './outcomes.js';
import type { Sandbox, SandboxOutcome } from './types.js';

const environment = choice<Environment>(environments, 'must be "sandbox" or "production"');
const outcome = choice<SandboxOutcome>(outcomeNames, `must be one of ${outcomeNames.join(', ')}`);
const operationNames = Object.keys(routes) as OperationName[];
const variant = choice(variants, 'must be "forged", "stale", "altered" or "unsigned", or left out');
const faultKinds = Object.keys(faultTexts) as readonly MockFault['kind'][];

const playInput = inputObject({
  refId: anyString,
  outcome,
  environment: z.optional(environment),
  idType: z.optional(inputObject({ country: anyString, idType: anyString, verificationMethod: z.optional(anyString) })),
});

const resendInput = inputObject({ variant: z.optional(variant) });

/** A fault for the next requests. */
export const failNextInput = inputObject({
  environment: z.optional(environment),
  operation: choice(operationNames, `must be one of ${operationNames.join(', ')}`),
  fault: inputObject(
    {
      kind: choice(faultKinds, `must be one of ${faultKinds.join(', ')}`),
      status: z.optional(integer(200, 599)),
      body: z.optional(z.unknown()),
      // Node cannot send a header that contains, for example, a line end.
      retryAfter: z.optional(stringOf(/^[\x20-\x7e]*$/, 'must contain only printable ASCII characters')),
    },
    'must be an object with the property "kind"',
  ).check(
    z.refine(
      (fault) => fault.kind !== 'status' || fault.status !== undefined,
      'must have a "status" if its kind is "status"',
    ),
  ),
  times: z.optional(integer(0, 1_000_000)),
});

/**
 * Checks the input of a control.
 *
 * @throws {HostedValidationError} when the input is invalid; the error names every problem.
 */
export function checkInput<T>(schema: z.ZodMiniType<T>, given: unknown): T {
  const { data, issues } = check(schema, given);
  if (data === undefined) throw new HostedValidationError(issues, { task: 'run a control' });
  return data;
}

/** Makes the next requests fail. */
export function failNext({ service }: Pick<Sandbox, 'service'>, input: z.output<typeof failNextInput>): void {
  const { kind, status, body, retryAfter } = input.fault;
  const details = { status, body, retryAfter };
  const given = kind === 'status' ? Object.entries(details).filter(([, value]) => value !== undefined) : [];
  const fault = { kind, ...Object.fromEntries(given) } as MockFault;
  service[input.environment ?? 'sandbox'].failNext(input.operation, fault, input.times);
}

/** Creates the routes `/control/…`. */
export function createControls(sandbox: Sandbox): Hono {
  const app = new Hono();

  app.use('/control/*', async (c, next) => {
    const isJson = /^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? '');
    if (c.req.method === 'POST' && !isJson) return c.json({ error: 'Send "content-type: application/json"' }, 415);
    return next();
  });

  app.get('/control/requests', (c) => c.json(after(sandbox.requests, c.req.query('after'))));
  app.get('/control/callbacks', (c) => c.json(after(sandbox.callbacks, c.req.query('after'))));

  app.post('/control/play', async (c) => {
    const { refId, outcome, environment, idType } = checkInput(playInput, parseBody(await c.req.text()));
    const options = { ...(environment && { environment }), ...(idType && { idType: idType as IdType }) };
    return c.json(await sandbox.play(refId, outcome, options));
  });

  const callback = '/control/callbacks/:id';
  const known = async (c: Context, entries: readonly { readonly id: number }[], act: (id: number) => unknown) => {
    const id = Number(c.req.param('id'));
    const [, , list] = c.req.path.split('/');
    if (entries.some((entry) => entry.id === id)) {
      const result = await act(id);
      return result === undefined ? c.body(null, 204) : c.json(result as object);
    }
    return c.json({ error: `No remembered entry has this id: see GET /control/${list}` }, 404);
  };

  app.post(`${callback}/resend`, async (c) => {
    const { variant } = checkInput(resendInput, parseBody(await c.req.text()));
    return known(c, sandbox.callbacks, (id) => sandbox.resend(id, variant && { variant }));
  });
  app.post(`${callback}/retry`, (c) => known(c, sandbox.callbacks, sandbox.retryNow));
  app.post(`${callback}/stop`, (c) => known(c, sandbox.callbacks, sandbox.stopTrying));
  app.post('/control/requests/:id/replay', (c) => known(c, sandbox.requests, sandbox.replay));
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
    failNext(sandbox, checkInput(failNextInput, parseBody(await c.req.text())));
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
