// In a component of the browser, this import fails the build: the client holds a secret key.
import 'server-only';
import { HostedClient } from 'hosted-client';

// `next build` runs this, too, where the secrets are not: they are read with the first call.
export const client = HostedClient.fromEnv({}, { lazy: true });
