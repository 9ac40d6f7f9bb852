/**
 * The response of `/health`. Programs that start a sandbox request `/health` first, and often. So this response is
 * created without the code of the pages.
 *
 * @module
 */

import type { WrittenResponse } from '../testing/responses.js';

export const health: WrittenResponse = {
  status: 200,
  headers: {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  },
  body: '{"status":"ok"}',
  isTruncated: false,
};
