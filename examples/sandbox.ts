/** `npm run sandbox`: the service on this machine, with the page that an end user opens and a console. */

import { startSandbox } from 'hosted-client/sandbox';

const sandbox = await startSandbox({
  port: Number(process.env.PORT ?? 4085),
  onRequest: ({ environment, operation, method, path, status, durationMs, signature }) => {
    const what = `${environment} ${operation ?? `${method} ${path}`}`;
    console.log(`${what} ${status} ${durationMs} ms${signature.problem === null ? '' : `: ${signature.message}`}`);
  },
});

const { partnerId, apiKey } = sandbox.clientOptions();
console.log(`Console: ${sandbox.origin}

HOSTED_PARTNER_ID=${partnerId}
HOSTED_API_KEY=${apiKey}
HOSTED_ENVIRONMENT=sandbox
HOSTED_SANDBOX_BASE_URL=${sandbox.baseUrls.sandbox}
HOSTED_PRODUCTION_BASE_URL=${sandbox.baseUrls.production}
`);

process.once('SIGINT', () => sandbox.stop());
