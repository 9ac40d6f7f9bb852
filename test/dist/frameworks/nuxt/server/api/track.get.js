/** A tracker without the package that it needs. */

import { HostedClient } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';

export default defineEventHandler(() =>
  createTracker({ client: HostedClient.fromEnv(), folder: 'tracked' }).then(
    () => 'tracks',
    ({ message }) => message,
  ),
);
