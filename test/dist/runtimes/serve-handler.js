// The handler as the server's own function, on Bun or Deno; prints where callbacks go.

import { HostedClient } from 'hosted-client';

const handle = HostedClient.fromEnv().callbacks.handler({ onEvent: () => undefined });

const { Bun, Deno } = globalThis;
const at = { hostname: '127.0.0.1', port: 0 };
const { port } = Bun
  ? Bun.serve({ ...at, fetch: handle })
  : Deno.serve({ ...at, onListen: () => undefined }, handle).addr;
console.log(`http://127.0.0.1:${port}/callbacks`);
