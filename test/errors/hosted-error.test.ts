/** What errors show in JSON and when they are inspected, and the texts that they share. */

import { inspect } from 'node:util';
import { HostedConfigError, HostedError, HostedPollTimeoutError, HostedResponseError } from 'hosted-client';
import { expect, test } from 'vitest';
import { listIssues } from '../../src/errors/reasons.js';
import { clientOf, rejection } from '../support/fake-fetch.js';

class ExampleError extends HostedError {
  static {
    ExampleError.prototype.name = 'ExampleError';
  }
  readonly code = 'example';

  constructor(options?: ErrorOptions) {
    super('it failed', { task: 'receive a callback' }, options);
  }
}

test('an error is inspected with its stack, and with its cause where it has one', () => {
  const alone = inspect(new ExampleError());
  const caused = inspect(new ExampleError({ cause: 'the reason' }));

  expect(alone).toMatch(/Cannot receive a callback: it failed\n\s+at .*hosted-error\.test/);
  expect(alone).toMatch(/code: 'example'/);
  expect(alone).not.toMatch(/cause|undefined/);
  expect(caused).toMatch(/cause: 'the reason'/);
});

test('an error of no task and no operation has a message, too', () => {
  class OtherError extends HostedError {
    readonly code = 'other';
  }

  expect(new OtherError('it failed', {}).message).toBe('Cannot go on: it failed');
});

test('an error without a stack is inspected with its name and message', () => {
  const error = new ExampleError();
  Object.defineProperty(error, 'stack', { value: undefined });

  expect(inspect(error)).toMatch(/^ExampleError: Cannot receive a callback: it failed \{/);
});

test('issues that take 1,500 characters are all named, and with one more the last is counted', () => {
  // Each is written with two more characters between them.
  const issuesOf = (length: number) => ['a'.repeat(748), 'b'.repeat(length)].map((message) => ({ path: '', message }));

  expect(listIssues(issuesOf(748))).toBe(`${'a'.repeat(748)}; ${'b'.repeat(748)}`);
  expect(listIssues(issuesOf(749))).toBe(`${'a'.repeat(748)}; and 1 more`);
});

test('the name of an error is of its class: it heads the stack, and is no property that is listed', () => {
  const error = new HostedConfigError([{ path: 'apiKey', message: 'must be a string' }], {
    task: 'create HostedClient',
  });
  const listed: string[] = [];
  for (const name in error) listed.push(name);

  expect(error.name).toBe('HostedConfigError');
  expect(error.stack).toMatch(/^HostedConfigError: Cannot create HostedClient: "apiKey" must be a string\n/);
  expect(listed).not.toContain('name');
  // As for the platform's own errors.
  const nameOf = (type: { readonly prototype: Error }) => {
    const { value: _, ...attributes } = Object.getOwnPropertyDescriptor(type.prototype, 'name') ?? {};
    return attributes;
  };
  expect(nameOf(HostedConfigError)).toEqual(nameOf(TypeError));
});

test('JSON and inspection of an error show what a log needs', async () => {
  const headers = { 'x-request-id': 'req-1', 'retry-after': '7' };
  const { client } = clientOf(Response.json({ code: '2301' }, { status: 503, headers }), { maxRetries: 0 });

  const error = await rejection(client.jobs.status({ userId: 'user-1', jobId: 'job-1' }));

  const expected = {
    name: 'HostedServerError',
    code: 'server',
    message: expect.stringMatching(/^Cannot get the status of a job: /),
    operation: 'jobs.status',
    outcome: 'refused',
    attempts: 1,
    requestId: 'req-1',
    retryable: true,
    mayHaveActed: false,
    status: 503,
    serviceCode: '2301',
    retryAfterMs: 7_000,
  };
  expect(JSON.parse(JSON.stringify(error))).toEqual(expected);
  const shown = inspect(error);
  for (const fact of ['HostedServerError', 'jobs.status', 'refused', 'req-1', '503', '2301', '7000']) {
    expect(shown).toContain(fact);
  }
});

test.each<[string, HostedError, object]>([
  [
    'a wait that ended',
    new HostedPollTimeoutError('it is over', { job: { userId: 'u', jobId: 'j' }, lastStatus: null, elapsedMs: 5 }, {}),
    { code: 'poll_timeout', elapsedMs: 5 },
  ],
  [
    'a response of another shape',
    new HostedResponseError('shape', [{ path: 'ref_id', message: 'must be there' }], {}),
    { code: 'response', reason: 'shape', issues: [{ path: 'ref_id', message: 'must be there' }] },
  ],
])('JSON of the error of %s shows its details', (_what, error, expected) => {
  expect(JSON.parse(JSON.stringify(error))).toMatchObject(expected);
});
