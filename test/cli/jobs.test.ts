/** The commands `jobs …`. */

import { expect, onTestFinished, test, vi } from 'vitest';
import { newLink } from '../sandbox/running.js';
import { optionsOf, serviceOf, signed } from '../support/fake-fetch.js';
import { account, command, envOf, expectWrongUse, start } from './running.js';

async function jobOf(outcome: 'approved' | 'rejected' | 'id_verified' | 'never') {
  const { sandbox, client, env } = await account();
  const link = await client.links.create(newLink);
  const job = await sandbox.play(link.refId, outcome);
  await sandbox.idle();
  return { client, job, ids: [job.userId, job.jobId], env };
}

test('jobs status prints ids, state and result, and no more of the person', async () => {
  const { client, job, ids, env } = await jobOf('id_verified');
  const history = (await client.jobs.status({ ...job, history: true })).history ?? [];
  const names = history.flatMap(({ identity }) => [identity?.fullName, identity?.idNumber, identity?.dateOfBirth]);
  const personal = names.filter((name): name is string => typeof name === 'string' && name !== '');

  const { code, stdout } = await command(['jobs', 'status', ...ids, '--history'], { env });

  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^User id +${job.userId}\nJob id +${job.jobId}\nState +succeeded\n`));
  expect(stdout).toMatch(/^Result code +0810$/m);
  expect(stdout).toMatch(/^Results +1012, 0810$/m);
  expect(personal.length).toBeGreaterThan(0);
  for (const datum of personal) expect(stdout).not.toContain(datum);
});

test('jobs status --json prints what the client returns', async () => {
  const { client, job, ids, env } = await jobOf('rejected');

  const { code, stdout } = await command(['jobs', 'status', ...ids, '--json', '--history', '--image-links'], { env });

  const { signedAt: _at, ...status } = await client.jobs.status({ ...job, history: true, imageLinks: true });
  expect(code).toBe(0);
  const { imageLinks, ...printed } = JSON.parse(stdout);
  const { imageLinks: expectedLinks, ...expected } = JSON.parse(JSON.stringify(status));
  expect(printed).toMatchObject(expected);
  expect(Object.keys(imageLinks)).toEqual(Object.keys(expectedLinks));
});

const selfie = 'https://images.hosted.test/selfie.jpg';
const idCard = 'https://images.hosted.test/id_card.jpg';
const fromTheId = { FullName: 'Peter Parker', DOB: '1990-01-01', IDNumber: 'A01234567', Photo: 'cGhvdG8=' };

/** A finished job as real services send it: data from the ID stands where only open fields are. */
const revealing = {
  job_complete: true,
  job_success: true,
  code: '2302',
  result: {
    ...fromTheId,
    ResultCode: '1012',
    ResultText: 'ID Number Validated',
    Actions: { Verify_ID_Number: 'Verified' },
    PartnerParams: { user_id: 'user-1', job_id: 'job-1', job_type: '5', ExpirationDate: '2031-05-06' },
  },
  history: [{ ...fromTheId, ResultCode: '1012', PartnerParams: { user_id: 'user-1', job_id: 'job-1' } }],
  image_links: { selfie_image: selfie, id_card_image: idCard },
};
const data = [...Object.values(fromTheId), '2031-05-06', idCard];

test.each(['status', 'wait'])('jobs %s prints data from the ID only with --history and --json', async (name) => {
  const reply = () => Response.json(signed(revealing, { timestamp: new Date(Date.now() - 1_000).toISOString() }));
  vi.stubGlobal('fetch', serviceOf(reply).fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const env = envOf(optionsOf(serviceOf({})));
  const print = async (...flags: string[]) => {
    const args = ['jobs', name, 'user-1', 'job-1', ...flags];
    const { code, stdout, stderr } = await command(args, { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  for (const flags of [[], ['--image-links'], ['--history'], ['--history', '--image-links']]) {
    const table = await print(...flags);
    expect(table.includes(selfie)).toBe(flags.includes('--image-links'));
    for (const datum of data) expect(table).not.toContain(datum);
  }
  for (const flags of [['--json'], ['--json', '--image-links']]) {
    const json = await print(...flags);
    for (const datum of data) expect(json).not.toContain(datum);
    expect(JSON.parse(json)).toMatchObject({
      state: 'succeeded',
      history: null,
      result: {
        resultCode: '1012',
        resultText: 'ID Number Validated',
        actions: { Verify_ID_Number: 'Verified' },
        partnerParams: { userId: 'user-1', jobId: 'job-1', jobType: '5', extra: {} },
        extra: {},
      },
      imageLinks: flags.includes('--image-links') ? { selfieImage: selfie, extra: {} } : null,
    });
  }
  expect(await print('--json', '--history')).not.toContain('https://images.hosted.test');
  const whole = await print('--json', '--history', '--image-links');
  for (const datum of data) expect(whole).toContain(datum);
});

test('jobs wait ends with the completed job, however it ended', async () => {
  const { ids, env } = await jobOf('rejected');

  const waited = await command(['jobs', 'wait', ...ids, '--json'], { env });

  expect(waited.code).toBe(0);
  expect(JSON.parse(waited.stdout)).toMatchObject({ state: 'failed', complete: true, success: false });
});

test('jobs wait exits 3 when the deadline passes', async () => {
  const { ids, env } = await jobOf('never');

  const { code, stdout, stderr } = await command(['jobs', 'wait', ...ids, '--deadline', '30'], { env });

  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toMatch(/^Cannot get the status of a job: --deadline has passed, and /);
});

test('jobs wait shows progress on a terminal, and can be interrupted', async () => {
  const { ids, env } = await jobOf('never');
  const { streams, interrupt } = start(['jobs', 'wait', ...ids], env, true);
  await expect.poll(() => streams.stderr).toMatch(/^pending after \d+ s, next poll in \d+ s …\n/);

  expect(await interrupt()).toBe(130);
  expect(streams.stdout).toBe('');
});

test.each([
  [['jobs', 'status', 'user-1'], 'JOB_ID is missing: hosted-client jobs status USER_ID JOB_ID'],
  [['jobs', 'wait', 'user-1', 'job-1', '--deadline', '0'], '--deadline must be an integer from 1'],
  [['jobs', 'wait', 'user-1', 'job-1', '--dedline', '5'], 'did you mean --deadline?'],
  [['jobs', 'stauts'], 'Argument 2 is not a command: did you mean "hosted-client jobs status"?'],
  [['jobs', 'status', ' ', 'job-1'], 'USER_ID must'],
])('%j is a wrong use, which is named', async (args, message) => {
  const { sandbox, env } = await account();
  await expectWrongUse(args, message, env);
  expect(sandbox.requests).toEqual([]);
});
