/** The service on loopback, in a separate process. Its arguments are the delay in ms and the number of pages. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPages, jobStatus, paths } from './fixtures.ts';

const latencyMs = Number(process.argv[2] ?? 0);
const pageOf = createPages({ totalPages: Number(process.argv[3] ?? 1) });
// The status is signed only once, because the bench measures the client and not this server.
const status = jobStatus();

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const respond = () => response.setHeader('content-type', 'application/json').end(bodyFor(request.url ?? '', body));
    if (latencyMs > 0) setTimeout(respond, latencyMs);
    else respond();
  });
});

function bodyFor(path: string, body: string): string | Uint8Array {
  if (path === paths.status) return status;
  const { page = 1 } = JSON.parse(body) as { page?: number };
  return pageOf(page);
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
