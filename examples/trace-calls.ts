/** Reports spans and metrics of calls, waits and callbacks to OpenTelemetry, without ids of people, jobs or links. */

import { HostedClient } from 'hosted-client';
import { instrument } from 'hosted-client/opentelemetry';

// Call this once per process. The client's spans are children of the active span, and the spans of the platform's
// fetch are children of the client's spans.
const { disable } = instrument();

const client = HostedClient.fromEnv();

const { links } = await client.links.list();
console.log(`${links.length} links, traced`);

disable();
