/**
 * The response of `/health`. A program that waits for a sandbox sends requests to `/health` until the sandbox has
 * started. So this response does not use the code of the pages, which takes time to load.
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
