// If a browser component imports this module, the build fails: the client holds a secret key.
import 'server-only';
import { HostedClient } from 'hosted-client';

// `next build` runs this module without the secrets: they are read with the first call.
export const client = HostedClient.fromEnv({}, { lazy: true });
