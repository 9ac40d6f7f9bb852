/** The command `play`. */

import { expect, test } from 'vitest';
import { newLink, receiving } from '../sandbox/running.js';
import { account, command, expectWrongUse } from './running.js';

async function linkOf(environment: 'sandbox' | 'production' = 'sandbox') {
  const world = await account(environment);
  const { refId } = await world.client.links.create(newLink);
  return { ...world, refId };
}

test('play plays an outcome in the sandbox that the variables lead to', async () => {
  const { client, refId, env } = await linkOf();

  const { code, stdout } = await command(['play', refId, 'approved', '--json'], { env });

  const job = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(job).toEqual({ userId: expect.any(String), jobId: expect.any(String) });
  expect((await client.jobs.status(job)).state).toBe('succeeded');
});

test('play --origin needs no variables', async () => {
  const { sandbox, refId } = await linkOf();

  const { code, stdout } = await command(['play', refId, 'rejected', '--origin', sandbox.origin]);

  expect(code).toBe(0);
  expect(stdout).toMatch(/^User id {2}\S+\nJob id {3}\S+\n$/);
});

test('play plays in the environment of the variables', async () => {
  const { sandbox, refId, env } = await linkOf('production');

  expect((await command(['play', refId, 'approved'], { env })).code).toBe(0);
  expect(sandbox.service.production.links.all()).toMatchObject([{ total_jobs: 1 }]);
});

test('play without a reference id plays a copy of the newest link, also if that link was used', async () => {
  const { client, sandbox, env } = await account();
  const server = await receiving();
  await client.links.create(newLink);
  const idTypes = [{ country: 'GH', idType: 'VOTER_ID', verificationMethod: 'biometric_kyc' }];
  const used = await client.links.create({
    ...newLink,
    ...{ callbackUrl: server.url, idTypes, isSingleUse: true, userId: 'user-1' },
  });
  await sandbox.play(used.refId, 'rejected');

  const { code, stdout } = await command(['play', 'approved', '--json'], { env });
  await sandbox.idle();

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ userId: 'user-1' });
  const { links } = await client.links.list();
  expect(links.map(({ jobs }) => jobs.total)).toEqual([0, 1, 1]);
  expect(links.at(-1)).toMatchObject({ idTypes, isSingleUse: true, callbackUrl: server.url, userIds: ['user-1'] });
  expect(sandbox.callbacks.map(({ resultCode, state }) => `${resultCode} ${state}`)).toEqual([
    '0811 delivered',
    '0810 delivered',
  ]);
});

test('play without a reference id exits 1 where there is no link, and says to create one', async () => {
  const { env } = await account();

  const { code, stderr } = await command(['play', 'approved'], { env });

  expect(code).toBe(1);
  expect(stderr).toBe(
    'The sandbox rejected the input: REF can be left out only after a link was created in the environment "sandbox": create a link first\n',
  );
});

test('play without arguments says that only the outcome is missing', async () => {
  await expectWrongUse(['play'], 'OUTCOME is missing: hosted-client play [REF] OUTCOME');
});

test('an outcome that is not there is named, with the one that may have been meant', async () => {
  const { sandbox, refId, env } = await linkOf();

  const { code, stderr } = await command(['play', refId, 'aproved'], { env });

  expect(code).toBe(2);
  expect(stderr).toContain('OUTCOME must be one of approved, rejected');
  expect(stderr).toContain(': did you mean "approved"?');
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 0 }]);
});

test('a link that is not there exits 1, and is named', async () => {
  const { env } = await linkOf();
  const { code, stderr } = await command(['play', 'none', 'approved'], { env });

  expect(code).toBe(1);
  expect(stderr).toMatch(/^The sandbox rejected the input: REF must be the reference id of a link/);
});

test('play exits 4 where no sandbox responds, and says how to start one', async () => {
  const { code, stderr } = await command(['play', 'ref', 'approved', '--origin', 'http://127.0.0.1:9']);

  expect(code).toBe(4);
  expect(stderr).toBe('No sandbox responds at http://127.0.0.1:9: "npx hosted-client sandbox" starts a sandbox\n');
});

test('play exits 1 where something else responds', async () => {
  const { url } = await receiving();
  const { code, stderr } = await command(['play', 'ref', 'approved', '--origin', url]);

  expect(code).toBe(1);
  expect(stderr).toContain('is not a sandbox (status 200): see --origin');
});

test('play sends nothing to a service that is not on this machine', async () => {
  const { refId } = await linkOf();
  const env = { HOSTED_SANDBOX_BASE_URL: 'https://hosted.invalid' };

  const { stderr } = await command(['play', refId, 'approved'], { env });

  expect(stderr).not.toContain('hosted.invalid');
});
