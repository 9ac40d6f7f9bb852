/** The mistake: the event itself. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv({}, { lazy: true });

export default defineEventHandler(client.callbacks.handler({ onEvent: () => undefined }));
