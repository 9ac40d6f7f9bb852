/** An application with a queue of its own: a completion goes on into it, and it works on what came. */

import { HostedClient } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';
import PgBoss from 'pg-boss';

const { DATABASE_URL: connectionString, USER_ID: userId, JOB_ID: jobId } = process.env;
const boss = new PgBoss(connectionString);
await boss.start();
await boss.createQueue('letters');
const sent = Promise.withResolvers();
await boss.work('letters', { pollingIntervalSeconds: 0.5 }, async ([{ data }]) => sent.resolve(data.state));

const tracker = await createTracker({ client: HostedClient.fromEnv(), connectionString });
await tracker.onCompletion(async ({ key, status }) => {
  await boss.send('letters', { state: status.state }, { singletonKey: key });
});
await tracker.track({ userId, jobId });

console.log(await sent.promise);
await tracker.stop();
await boss.stop({ graceful: false });
