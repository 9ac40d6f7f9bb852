/** Next: a route handler on Edge receives callbacks. */

import { client } from '@/lib/hosted';

export const runtime = 'edge';

export const POST = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`change ${event.id}: the job is ${status.state}`);
  },
});
