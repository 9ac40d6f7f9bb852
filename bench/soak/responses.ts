/** The responses of a soak's service: links and job statuses for valid requests, and faults by name. */

import { createHmac } from 'node:crypto';

export const partnerId = '085';
export const apiKey = 'soak-key';

// Signs for one second ago. A response with the time of the request would have the signature of the request, and the
// client would reject it.
function sign(record: object): object {
  const timestamp = new Date(Date.now() - 1_000).toISOString();
  const sec_key = createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64');
  return { ...record, timestamp, sec_key };
}

/** The response to a call about one link. */
export const link = { link_url: 'https://links.hosted.test/1', ref_id: 'good', disabled_at: null, id_types: [] };
const writePage = (number: number) => ({
  links: Array.from({ length: 5 }, (_, index) => ({ ...link, ref_id: `link-${number}-${index}` })),
  meta: { currentPage: number, limit: 5, totalCount: 50, totalPages: 10 },
});

/** Returns the body of a valid response. */
export function bodyFor(path: string, body: { user_id?: string; job_id?: string; page?: number }): object {
  if (path.endsWith('/job_status')) {
    const { user_id, job_id } = body;
    if (job_id === 'pending') return sign({ job_complete: false });
    return sign({ job_complete: true, job_success: true, user_id, job_id });
  }
  return path.endsWith('/list') ? writePage(body.page ?? 1) : link;
}

/** The statuses of error responses, by the last part of the path. */
export const statuses: Readonly<Record<string, number>> = { '503': 503, '429': 429, '404': 404, '401': 401 };
/** A text that is longer than `maxResponseBytes`. */
export const large = 'x'.repeat(256 * 1024);
