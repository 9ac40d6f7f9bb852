/** A list of links on loopback, 5 ms away: what `walking.ts` walks, in a process of its own. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const totalPages = Number(process.argv[2]);
const pageSize = Number(process.argv[3]);
const latencyMs = Number(process.argv[4]);

const link = (page: number, index: number) => ({
  link_url: `https://links.hosted.test/${page}/${index}`,
  link_id: `link-${page}-${index}`,
  ref_id: `link-${page}-${index}`,
  name: `Link ${index} of page ${page}`,
  id_types: ['PASSPORT', 'VOTER_ID', 'NATIONAL_ID', 'DRIVERS_LICENSE'].map((id_type) => ({
    country: 'NG',
    id_type,
    verification_method: 'doc_verification',
  })),
  is_single_use: false,
  callback_url: 'https://partner.hosted.test/callbacks',
  data_privacy_policy_url: 'https://partner.hosted.test/privacy',
  logo_url: 'https://partner.hosted.test/logo.png',
  user_id: `user-${page}-${index}`,
  total_jobs: 3,
  failed_jobs: 1,
  successful_jobs: 2,
  company_name: 'Example Ltd',
  partner_id: '085',
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
  expires_at: '2026-04-02T03:04:05.678Z',
  disabled_at: null,
});

// Written once: what is measured is the client, not this.
const template = JSON.stringify(Array.from({ length: pageSize }, (_, index) => link(0, index)));

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    const { page = 1 } = JSON.parse(body) as { page?: number };
    const links = template.replaceAll('link-0-', `link-${page}-`);
    const meta = { currentPage: page, limit: pageSize, totalCount: totalPages * pageSize, totalPages };
    setTimeout(() => {
      response.setHeader('content-type', 'application/json').end(`{"links":${links},"meta":${JSON.stringify(meta)}}`);
    }, latencyMs);
  });
});

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
