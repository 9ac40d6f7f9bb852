/** The command `doctor`. */

import { nodeHandler } from 'hosted-client/node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listening, receiving } from '../sandbox/running.js';
import { refusingOrigin } from '../support/faulty-server.js';
import { account, command, type Env } from './running.js';

interface Report {
  readonly well: boolean;
  readonly findings: readonly { readonly check: string; readonly state: string; readonly message: string }[];
}

async function examine(env: Env, ...args: readonly string[]) {
  const { code, stdout, stderr } = await command(['doctor', '--json', ...args], { env });
  const report = JSON.parse(stdout) as Report;
  const states = report.findings.map(({ check, state }) => [check, state]);
  return { code, stdout, stderr, report, states, messages: report.findings.map(({ message }) => message).join('\n') };
}

test('doctor of a right integration finds all well, and exits 0', async () => {
  const { sandbox, env } = await account();

  const { code, stdout, stderr } = await command(['doctor'], { env });

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(`well     variables: set and well formed, for sandbox
well     key: without spaces, line ends and quotation marks
well     URL: ${sandbox.origin} responds
well     clock: agrees with the clock of the service
well     signed call: the service accepted a signed call (links: 0)
well     job status: the service accepted a request for a job status
`);
  expect(sandbox.requests.map(({ operation, signature }) => [operation, signature.problem])).toContainEqual([
    'links.list',
    null,
  ]);
});

test('doctor --json prints whether all is well, and the findings', async () => {
  const { env } = await account();
  const { report, states } = await examine(env);

  expect(report.well).toBe(true);
  expect(states).toEqual(
    ['variables', 'key', 'address', 'clock', 'call', 'job_status'].map((check) => [check, 'well']),
  );
});

test('variables that are missing or malformed are named', async () => {
  const { code, states, messages } = await examine({ HOSTED_ENVIRONMENT: 'test' });

  expect(code).toBe(1);
  expect(states).toEqual([
    ['variables', 'wrong'],
    ['address', 'skipped'],
  ]);
  expect(messages).toContain('HOSTED_PARTNER_ID must be set');
  expect(messages).toContain('HOSTED_API_KEY must be set');
  expect(messages).toContain('HOSTED_ENVIRONMENT must be "sandbox" or "production"');
  expect(messages).toContain('--env-file=.env');
});

test.each<[string, Env, string]>([
  [
    'a URL that the client refuses',
    { HOSTED_SANDBOX_BASE_URL: 'http://hosted.invalid' },
    'HOSTED_SANDBOX_BASE_URL must be https, or http on loopback',
  ],
  [
    'a variable that is misspelt',
    { HOSTED_API_KEY: undefined, HOSTED_APIKEY: 'sandbox-test-key' },
    'HOSTED_APIKEY is not read: did you mean HOSTED_API_KEY?',
  ],
  [
    'a key with an invisible character',
    { HOSTED_API_KEY: 'sandbox-test\u200b-key' },
    'HOSTED_API_KEY must not contain invisible characters',
  ],
  [
    'a partner id in quotation marks',
    { HOSTED_PARTNER_ID: '"085"' },
    'HOSTED_PARTNER_ID must not be in quotation marks',
  ],
  [
    'a URL that is a placeholder',
    { HOSTED_SANDBOX_BASE_URL: 'https://<host>' },
    'HOSTED_SANDBOX_BASE_URL must not be a placeholder',
  ],
  ['a file with Windows line ends', { HOSTED_LOG: 'warn\r' }, 'HOSTED_LOG must not end in a carriage return'],
  [
    'the own public key as that of the service',
    {
      HOSTED_API_KEY: undefined,
      HOSTED_SECRET_KEY: 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
      HOSTED_SERVICE_PUBLIC_KEY: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    },
    'HOSTED_SERVICE_PUBLIC_KEY must be the public key that the service gave you: this is your own',
  ],
  [
    'a partner id that may have lost a zero',
    { HOSTED_PARTNER_ID: '85' },
    'HOSTED_PARTNER_ID has fewer than 3 digits: it may have lost a zero at its start',
  ],
])('%s is named by its variable, and exits 1', async (_, variables, message) => {
  const { env } = await account();
  const { code, messages } = await examine({ ...env, ...variables });

  expect(code).toBe(1);
  expect(messages).toContain(message);
});

test.each([
  ['a blank', (key: string) => `${key} `, 'HOSTED_API_KEY contains a blank: copy it again'],
  ['a line end', (key: string) => `${key}\n`, 'HOSTED_API_KEY contains a blank: copy it again'],
  ['quotation marks', (key: string) => `"${key}"`, 'HOSTED_API_KEY is in quotation marks'],
  ['typographic quotation marks', (key: string) => `“${key}”`, 'HOSTED_API_KEY contains typographic quotation marks'],
  ['a line end as two characters', (key: string) => `${key}\\n`, 'HOSTED_API_KEY contains "\\n" as two characters'],
])('a key with %s is found, and not shown', async (_, write, message) => {
  const { env } = await account();
  const key = env.HOSTED_API_KEY ?? '';

  const { code, report, messages } = await examine({ ...env, HOSTED_API_KEY: write(key) });

  expect(code).toBe(1);
  expect(report.findings).toContainEqual({ check: 'key', state: 'wrong', message: expect.stringContaining(message) });
  expect(messages).not.toContain(key);
});

// A public address to which no connection can be made.
const remote = 'https://255.255.255.255';

test.each([
  ['sandbox-test-key', 'HOSTED_API_KEY is a key of the testing kit'],
  ['planted', 'HOSTED_API_KEY has fewer than 16 characters'],
])('a weak key towards a service elsewhere has a warning: %s', async (key, message) => {
  const { env } = await account();

  const elsewhere = await examine({ ...env, HOSTED_API_KEY: key, HOSTED_SANDBOX_BASE_URL: remote });
  const here = await examine({ ...env, HOSTED_API_KEY: key });

  const warning = { check: 'key', state: 'warning', message: expect.stringContaining(message) };
  expect(elsewhere.report.findings).toContainEqual(warning);
  expect(here.report.findings).not.toContainEqual(warning);
  expect(elsewhere.messages).not.toContain(key);
});

test('a callback URL that a service elsewhere cannot reach has a warning', async () => {
  const { env } = await account();
  const { url } = await receiving(401, 401, 401);

  const elsewhere = await examine({ ...env, HOSTED_SANDBOX_BASE_URL: remote }, '--callback', url);
  const here = await examine(env, '--callback', url);

  const warning = {
    check: 'callback',
    state: 'warning',
    message: expect.stringMatching(/^the URL leads to this machine/),
  };
  expect(elsewhere.report.findings).toContainEqual(warning);
  expect(here.report.findings).not.toContainEqual(warning);
});

test('a key that the service does not accept is found by the signed call', async () => {
  const { env } = await account();
  const { code, states, messages } = await examine({ ...env, HOSTED_API_KEY: 'another-secret-key' });

  expect(code).toBe(1);
  expect(messages).toContain('check that partner id and key are those of the sandbox environment, not of production');
  expect(messages).not.toContain('npx hosted-client doctor');
  expect(states).toEqual([
    ['variables', 'well'],
    ['key', 'well'],
    ['address', 'well'],
    ['clock', 'well'],
    ['call', 'wrong'],
    ['job_status', 'wrong'],
  ]);
});

test.each([
  ['sandbox', { jobs: false }, 'HOSTED_SANDBOX_BASE_URL', 'HOSTED_SANDBOX_BASE_URL'],
  ['production', { jobs: false }, 'HOSTED_PRODUCTION_BASE_URL', 'HOSTED_PRODUCTION_BASE_URL'],
  ['sandbox', { jobs: true }, 'HOSTED_SANDBOX_BASE_URL', 'HOSTED_SANDBOX_JOB_STATUS_BASE_URL'],
])(
  'a URL of %s at which there is a web page is named by its variable, %o',
  async (environment, { jobs }, call, job) => {
    const { sandbox, env } = await account();
    const { code, report } = await examine({
      ...env,
      HOSTED_ENVIRONMENT: environment,
      [call]: sandbox.origin,
      ...(jobs && { [job]: sandbox.origin }),
    });

    expect(code).toBe(1);
    const page = `it is a web page from ${sandbox.origin}`;
    const at = (name: string) => `${page}: check that ${name} has the URL of the service (status 404)`;
    expect(report.findings).toEqual(
      expect.arrayContaining([
        { check: 'call', state: 'wrong', message: expect.stringContaining(at(call)) },
        { check: 'job_status', state: 'wrong', message: expect.stringContaining(at(job)) },
      ]),
    );
  },
);

test('a service that does not respond exits 4', async () => {
  const { sandbox, env } = await account();
  await sandbox.stop();

  const { code, states, messages } = await examine(env);

  expect(code).toBe(4);
  expect(states).toEqual([
    ['variables', 'well'],
    ['key', 'well'],
    ['address', 'unreachable'],
    ['call', 'skipped'],
    ['job_status', 'skipped'],
  ]);
  expect(messages).toContain(`no response from ${sandbox.origin} (ECONNREFUSED)`);
});

test('a proxy that is set but not used is named, without its password', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://user:secret-of-the-proxy@proxy.example:3128');
  for (const name of ['https_proxy', 'NO_PROXY', 'no_proxy', 'NODE_OPTIONS', 'NODE_USE_ENV_PROXY'])
    vi.stubEnv(name, '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { env } = await account();

  const { messages, stdout } = await examine({ ...env, HOSTED_SANDBOX_BASE_URL: 'https://127.0.0.1:9' });

  expect(messages).toContain("HTTPS_PROXY is set, but Node's fetch uses it only with NODE_USE_ENV_PROXY=1");
  expect(stdout).not.toContain('secret-of-the-proxy');
});

test('a job status URL of its own is tried', async () => {
  const { env } = await account();
  const HOSTED_SANDBOX_JOB_STATUS_BASE_URL = await refusingOrigin();

  const { code, states } = await examine({ ...env, HOSTED_SANDBOX_JOB_STATUS_BASE_URL });

  expect(code).toBe(4);
  expect(states.slice(-2)).toEqual([
    ['call', 'well'],
    ['job_status', 'unreachable'],
  ]);
});

test.each([
  [400_000, 'wrong', 'ahead of'],
  [-400_000, 'wrong', 'behind'],
  [60_000, 'warning', 'ahead of'],
])('a clock that is off by %i ms is found: %s', async (offMs, state, word) => {
  const { env } = await account();
  const clock = { now: () => Date.now() + offMs };

  const { stdout } = await command(['doctor', '--json'], { env, clock });

  const { findings } = JSON.parse(stdout) as Report;
  const message = expect.stringMatching(
    new RegExp(`^this machine's clock is \\d+ s ${word} the service's clock: set this machine's clock`),
  );
  expect(findings).toContainEqual({ check: 'clock', state, message });
});

test('an endpoint that accepts an unsigned callback is named first, and exits 1', async () => {
  const { env } = await account();
  const { received, url, port } = await receiving();

  const { code, states, report } = await examine({ ...env, HOSTED_API_KEY: 'another-secret-key' }, '--callback', url);

  expect(code).toBe(1);
  expect(states[0]).toEqual(['callback', 'wrong']);
  expect(report.findings[0]?.message).toContain(
    `http://127.0.0.1:${port} accepts an unsigned callback (status 200): anyone can report a passed verification`,
  );
  // A rejection, of someone who is not there.
  expect(received[0]?.body).toMatchObject({
    ResultCode: '0811',
    PartnerParams: { user_id: 'hosted-client-doctor', job_id: 'hosted-client-doctor' },
  });
  expect(received[0]?.body).not.toHaveProperty('signature');
});

test('an endpoint that accepts an unsigned callback is named first, although it then breaks off', async () => {
  const { env } = await account();
  let count = 0;
  const url = await listening((message, response) => {
    count += 1;
    if (count === 1) response.end();
    else message.socket.destroy();
  });

  const { code, report } = await examine(env, '--callback', url);

  expect(code).toBe(1);
  expect(report.findings[0]?.message).toContain('accepts an unsigned callback (status 200)');
});

test('an endpoint that breaks off a large callback is found, with the limits to raise', async () => {
  const { env } = await account();
  const url = await listening((message, response) => {
    if (Number(message.headers['content-length']) > 1_000_000) return void response.destroy();
    message.resume().on('end', () => response.writeHead(401).end());
  });

  const { code, report } = await examine(env, '--callback', url);

  expect(code).toBe(1);
  expect(report.findings[0]?.message).toContain('gives no response to a callback of 1.5 MB');
  expect(report.findings[0]?.message).toContain("express.json({ limit: '2mb' })");
});

test('an endpoint with callbacks.handler() is well', async () => {
  const { client, env } = await account();
  const url = await listening(nodeHandler(client.callbacks.handler({ onEvent: () => undefined })));

  const { code, report } = await examine(env, '--callback', url);

  expect(code).toBe(0);
  expect(report.findings.at(-1)).toMatchObject({
    check: 'callback',
    state: 'well',
    message: expect.stringContaining('rejects unsigned and forged callbacks (status 401 and 401)'),
  });
});

test('an endpoint whose handler fails is named with the reason of the handler', async () => {
  const { client, env } = await account();
  const handle = nodeHandler(client.callbacks.handler({ onEvent: () => undefined }));
  const url = await listening((message, response) => void message.resume().on('end', () => handle(message, response)));

  const { code, messages } = await examine(env, '--callback', url);

  expect(code).toBe(1);
  expect(messages).toContain('with status 503 (connection): the endpoint should reject such callbacks with 401');
});

test('an endpoint that rejects everything, as a login or a CSRF protection does, has a warning', async () => {
  const { env } = await account();
  const { url } = await receiving(403, 403, 403);

  const { code, report } = await examine(env, '--callback', url);

  expect(code).toBe(0);
  expect(report.findings.at(-1)).toMatchObject({
    check: 'callback',
    state: 'warning',
    message: expect.stringMatching(
      /\(status 403 and 403\), but not as callbacks\.handler\(\) does: if a login, a CSRF/,
    ),
  });
});

test.each([
  ['forged', [401, 200], [false, false, false]],
  ['large forged', [401, 401, 200], [false, false, true]],
])('an endpoint that accepts a %s callback is found', async (kind, statuses, areLarge) => {
  const { env } = await account();
  const { received, url } = await receiving(...statuses);

  const { code, report } = await examine(env, '--callback', url);

  expect(code).toBe(1);
  expect(report.findings[0]?.message).toContain(`accepts a ${kind} callback (status 200)`);
  expect(received.map(({ text }) => text.length > 1_000_000)).toEqual(areLarge.slice(0, received.length));
});

test.each([
  [404, 'is this the URL that receives callbacks?'],
  [413, 'the endpoint should reject such callbacks because of their signature, with 401'],
  [415, 'the endpoint should reject such callbacks because of their signature, with 401'],
  [429, 'the endpoint should reject such callbacks because of their signature, with 401'],
  [302, 'the endpoint must respond itself, because redirects are not followed'],
  [500, 'the endpoint should reject such callbacks with 401, and not fail'],
])('an endpoint that responds with %i is not well', async (status, advice) => {
  const { env } = await account();
  const { url } = await receiving(status, status);

  const { code, report } = await examine(env, '--callback', url);

  expect(code).toBe(1);
  expect(report.findings[0]).toMatchObject({ check: 'callback', state: 'wrong' });
  expect(report.findings[0]?.message).toContain(`with status ${status}: ${advice}`);
});

test('an endpoint that does not respond exits 4', async () => {
  const { env } = await account();
  const url = `${await refusingOrigin()}/callbacks?token=hidden`;

  const { code, states, messages } = await examine(env, '--callback', url);

  expect(code).toBe(4);
  expect(states.at(-1)).toEqual(['callback', 'unreachable']);
  expect(messages).toContain(`no response from ${new URL(url).origin} (ECONNREFUSED): start the server`);
});

test('an endpoint at a port that fetch never connects to is told so', async () => {
  const { env } = await account();

  const { messages } = await examine(env, '--callback', 'http://127.0.0.1:9/callbacks');

  expect(messages).toContain('no response from http://127.0.0.1:9 (fetch never connects to this port)');
});

test('a wrong use is named', async () => {
  expect(await command(['doctor', '--callbak', 'x'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'Argument 2 is not a flag of hosted-client doctor: did you mean --callback?\n',
  });
});
