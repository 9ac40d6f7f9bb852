/** Inputs that are right, and the expectation that one is not. */

import { type HostedClient, type HostedClientOptions, HostedValidationError } from 'hosted-client';
import { expect } from 'vitest';
import { clientOf, rejection } from '../support/fake-fetch.js';

export const created = { link: 'https://links.hosted.test/1', ref_id: 'ref-1' };

/** That a call is refused before anything is sent, for these members. */
export async function expectRefusal(
  call: (client: HostedClient) => Promise<unknown>,
  paths: readonly string[],
  options: Partial<HostedClientOptions> = {},
): Promise<HostedValidationError> {
  const { client, sent } = clientOf(created, options);
  const error = await rejection(call(client), HostedValidationError);
  const { issues, message } = error;
  expect(error).toMatchObject({ outcome: 'not_sent', attempts: 0, retryable: false });
  expect(issues.map(({ path }) => path).sort()).toEqual([...paths].sort());
  for (const path of paths) expect(message).toContain(path);
  expect(sent).toEqual([]);
  return error;
}
