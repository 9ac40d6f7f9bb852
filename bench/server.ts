/** The service on loopback, in a process of its own, so far away as the first argument says in ms. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jobStatus, linkPage } from './service.ts';

const latencyMs = Number(process.argv[2] ?? 0);
const totalPages = Number(process.argv[3] ?? 1);
const firstPage = linkPage(1, totalPages);

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    const answer = () => response.setHeader('content-type', 'application/json').end(answerTo(request.url ?? '', body));
    if (latencyMs > 0) setTimeout(answer, latencyMs);
    else answer();
  });
});

// Pages are written beforehand or by replacing: what is measured is the client, not this.
function answerTo(path: string, body: string): string {
  if (path.endsWith('job_status')) return jobStatus();
  const { page = 1 } = body.startsWith('{') ? (JSON.parse(body) as { page?: number }) : {};
  return page === 1 ? firstPage : linkPage(page, totalPages);
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
