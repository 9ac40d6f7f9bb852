/** Links that begin no more jobs. */

import { HostedValidationError } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { newLink, nowMs, partnerOf } from './partner.js';

function start() {
  const clock = createTestClock(nowMs);
  const service = createMockService({ clock });
  return { clock, service, partner: partnerOf(service) };
}

function refusal(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

test('jobs.start() throws HostedValidationError for a disabled link', async () => {
  const { service, partner } = start();
  const { body } = await partner.create();
  await partner.update(body.ref_id, { is_disabled: true });

  const error = refusal(() => service.sandbox.jobs.start({ linkRefId: body.ref_id }));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({
    message: 'Cannot start a job: "linkRefId" must be an open link, and this link is disabled',
    issues: [{ path: 'linkRefId' }],
  });
});

test('jobs.start() throws HostedValidationError from the moment at which a link expires', async () => {
  const { clock, service, partner } = start();
  const { body } = await partner.create({ ...newLink, expires_at: new Date(nowMs + 1_000).toISOString() });
  const open = () => service.sandbox.jobs.start({ linkRefId: body.ref_id });

  await clock.advance(999);
  open();
  await clock.advance(1);

  expect(refusal(open)).toBeInstanceOf(HostedValidationError);
  expect(refusal(open)).toMatchObject({ message: expect.stringContaining('has expired') });
});

test('jobs.start() throws HostedValidationError for a single-use link that has a job', async () => {
  const { service, partner } = start();
  const { body } = await partner.create({ ...newLink, is_single_use: true });
  const open = () => service.sandbox.jobs.start({ linkRefId: body.ref_id });

  open();

  expect(refusal(open)).toBeInstanceOf(HostedValidationError);
  expect(refusal(open)).toMatchObject({ message: expect.stringContaining('already has a job') });
});

test('a link that is not single use begins any number of jobs', async () => {
  const { service, partner } = start();
  const { body } = await partner.create();

  for (let count = 0; count < 3; count++) service.sandbox.jobs.start({ linkRefId: body.ref_id });

  expect(service.sandbox.links.all()).toMatchObject([{ total_jobs: 3 }]);
});
