/** The commands `links …`. */

import { expect, test } from 'vitest';
import { newLink } from '../sandbox/running.js';
import { account, command, expectWrongUse } from './running.js';

const create = [
  'links',
  'create',
  '--company-name',
  'Example Partner',
  '--data-privacy-policy-url',
  'https://partner.example/privacy',
];

test('links create creates what the flags say, and prints its id and URL', async () => {
  const { sandbox, env } = await account();

  const created = await command(
    [
      ...create,
      ...['--name', 'Spring', '--callback-url', 'https://partner.example/callbacks', '--single-use'],
      ...['--user-id', 'user-1', '--id-type', 'NG:BVN:biometric_kyc', '--id-type', 'GH::doc_verification'],
      ...['--logo-url', 'https://partner.example/logo.png', '--expires-at', '2030-01-01T00:00:00Z'],
    ],
    { env },
  );

  const [link] = sandbox.service.sandbox.links.all() as readonly Record<string, unknown>[];
  expect(created).toMatchObject({ code: 0, stderr: '' });
  expect(created.stdout).toBe(`Reference id  ${link?.ref_id}\nURL           ${sandbox.origin}/links/${link?.ref_id}\n`);
  expect(link).toMatchObject({
    company_name: 'Example Partner',
    name: 'Spring',
    callback_url: 'https://partner.example/callbacks',
    is_single_use: true,
    user_id: 'user-1',
    id_types: [
      { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' },
      { country: 'GH', id_type: '', verification_method: 'doc_verification' },
    ],
  });
});

test('links create --json prints what the client returns', async () => {
  const { sandbox, env } = await account();

  const { code, stdout } = await command([...create, '--json'], { env });

  const [link] = sandbox.service.sandbox.links.all() as readonly { ref_id: string }[];
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ url: `${sandbox.origin}/links/${link?.ref_id}`, refId: link?.ref_id });
});

test('links get prints a link, and with --json what the client returns', async () => {
  const { client, env } = await account();
  const { refId } = await client.links.create({ ...newLink, name: 'Spring' });

  const shown = await command(['links', 'get', refId], { env });
  const json = await command(['links', 'get', refId, '--json'], { env });

  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(new RegExp(`^Reference id +${refId}\nState +active\n`));
  expect(shown.stdout).toMatch(/^Name +Spring$/m);
  expect(JSON.parse(json.stdout)).toEqual(JSON.parse(JSON.stringify(await client.links.get(refId))));
});

test('links list prints a table, and with --json one array', async () => {
  const { sandbox, client, env } = await account();
  sandbox.service.sandbox.links.seed(30);

  const table = await command(['links', 'list'], { env });
  const json = await command(['links', 'list', '--json'], { env });
  const few = await command(['links', 'list', '--limit', '12', '--json'], { env });

  const all = JSON.parse(JSON.stringify(await client.links.list().toArray({ limit: 100 })));
  expect(table).toMatchObject({ code: 0, stderr: '' });
  expect(table.stdout.split('\n')[0]).toMatch(/^REF +STATE +NAME +JOBS +CREATED +URL$/);
  expect(table.stdout.trim().split('\n')).toHaveLength(31);
  expect(JSON.parse(json.stdout)).toEqual(all);
  expect(JSON.parse(few.stdout)).toEqual(all.slice(0, 12));
  expect(few.stderr).toBe('These are the first 12 of 30 links: see --limit\n');
});

test('links list of an account without links says so on stderr', async () => {
  const { env } = await account();

  expect(await command(['links', 'list'], { env })).toEqual({ code: 0, stdout: '', stderr: 'There are no links\n' });
  expect((await command(['links', 'list', '--json'], { env })).stdout).toBe('[]\n');
});

test('links list shows progress on a terminal alone', async () => {
  const { sandbox, env } = await account();
  sandbox.service.sandbox.links.seed(30);

  expect((await command(['links', 'list'], { env, isTTY: true })).stderr).toMatch(/^\d+ of 30 …\n/);
});

test('links update and links disable change a link', async () => {
  const { sandbox, client, env } = await account();
  const { refId } = await client.links.create(newLink);

  const updated = await command(['links', 'update', refId, '--id-type', 'NG:NIN:enhanced_kyc', '--json'], { env });
  const disabled = await command(['links', 'disable', refId], { env });

  expect(JSON.parse(updated.stdout)).toMatchObject({
    refId,
    state: 'active',
    idTypes: [{ country: 'NG', idType: 'NIN', verificationMethod: 'enhanced_kyc' }],
  });
  expect(disabled.code).toBe(0);
  expect(disabled.stdout).toMatch(/^State +disabled$/m);
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ disabled_at: expect.any(String) }]);
});

test('links update --disabled true disables a link', async () => {
  const { client, env } = await account();
  const { refId } = await client.links.create(newLink);

  await command(['links', 'update', refId, '--disabled', 'true'], { env });

  expect((await client.links.get(refId)).state).toBe('disabled');
});

test('a name of control characters does not reach a terminal', async () => {
  const { client, env } = await account();
  const { refId } = await client.links.create({ ...newLink, name: 'a\u001b[2Jb\u009b1mc\u202ed' });

  const shown = await command(['links', 'get', refId], { env });
  const json = await command(['links', 'get', refId, '--json'], { env });

  expect(shown.stdout).toMatch(/^Name +a�\[2Jb�1mc�d$/m);
  expect(json.stdout).toContain('\\u001b[2Jb\\u009b1mc\\u202ed');
  expect(JSON.parse(json.stdout).name).toBe('a\u001b[2Jb\u009b1mc\u202ed');
});

test.each([
  [['links', 'create'], '--company-name is missing: --company-name NAME'],
  [create.slice(0, 4), '--data-privacy-policy-url is missing: --data-privacy-policy-url URL'],
  [[...create, '--callback-url', 'partner'], '--callback-url must be an absolute http or https URL'],
  [[...create, '--id-type', 'NG:BVN'], '--id-type must be COUNTRY:TYPE:METHOD, such as NG:BVN:biometric_kyc'],
  [[...create, '--id-type', 'NG:BVN:kyc'], 'Cannot create a link: --id-type must'],
  [[...create, '--expires-at', 'soon'], 'Cannot create a link: --expires-at must'],
  [
    [...create, '--compny-name', 'x'],
    'Argument 7 is not a flag of hosted-client links create: did you mean --company-name?',
  ],
  [['links', 'update', 'ref'], 'Nothing to change: give --id-type or --disabled'],
  [['links', 'update', 'ref', '--disabled', 'flase'], '--disabled must be one of true, false: did you mean "false"?'],
  [['links', 'get'], 'REF is missing: hosted-client links get REF'],
  [['links', 'get', ''], 'REF must not be empty: hosted-client links get REF'],
  [['links', 'get', 'one', 'two'], 'Argument 4 is one too many: hosted-client links get REF'],
  [['links', 'list', '--limit', 'all'], '--limit must be an integer from 1 to 1000000\n'],
  [['links', 'list', '--limit', '1e3'], '--limit must be an integer from 1 to 1000000\n'],
])('%j is a wrong use, which is named, and nothing is sent', async (args, message) => {
  const { sandbox, env } = await account();

  await expectWrongUse(args, message, env);
  expect(sandbox.requests).toEqual([]);
});

test('a link that is not there exits 1', async () => {
  const { env } = await account();
  const { code, stdout, stderr } = await command(['links', 'get', 'none', '--json'], { env });

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^Cannot /);
});

test('a service that is not reached exits 4, names its origin and doctor', async () => {
  const { sandbox, env } = await account();
  await sandbox.stop();

  const { code, stderr } = await command(['links', 'list'], { env });

  expect(code).toBe(4);
  expect(stderr).toContain('"npx hosted-client doctor"');
});

test('a key that the service does not accept exits 1, and names doctor', async () => {
  const { env } = await account();
  const { code, stderr } = await command(['links', 'list'], { env: { ...env, HOSTED_API_KEY: 'another-secret-key' } });

  expect(code).toBe(1);
  expect(stderr).toContain('hosted-client doctor');
  expect(stderr).not.toContain('another-secret-key');
});

test('HOSTED_LOG logs on stderr, and stdout stays what was asked for', async () => {
  const { env } = await account();
  const { stdout, stderr } = await command(['links', 'list', '--json'], { env: { ...env, HOSTED_LOG: 'debug' } });

  expect(stdout).toBe('[]\n');
  expect(stderr).toContain('links.list');
});

test('missing variables exit 2, and are named', async () => {
  const { code, stderr } = await command(['links', 'list']);

  expect(code).toBe(2);
  expect(stderr).toContain('"HOSTED_PARTNER_ID" must be set');
  expect(stderr).toContain('"HOSTED_SANDBOX_BASE_URL" must be set');
  expect(stderr).toContain('--env-file=.env');
});

test('an interruption exits 130', async () => {
  const { env } = await account();
  const signal = AbortSignal.abort(new Error('interrupted'));

  expect(await command(['links', 'list'], { env, signal })).toEqual({ code: 130, stdout: '', stderr: '' });
});
