/** Next: a route handler on Edge receives callbacks. */

import { client } from '@/lib/hosted';

export const runtime = 'edge';

export const POST = client.callbacks.handler({
  onEvent: (event, status) => {
    // A verdict may change: keep it by job, as in express-and-postgres.ts.
    console.log(`change ${event.id}: the job is ${status.state}`);
  },
});
