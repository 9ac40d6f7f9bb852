/** How an error looks when it is inspected, and the texts that errors share. */

import { inspect } from 'node:util';
import { HostedConfigError, HostedError } from 'hosted-client';
import { expect, test } from 'vitest';
import { listIssues } from '../../src/errors/reasons.js';

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
