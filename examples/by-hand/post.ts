/** Typical hand-written code that signs and posts a request; docs/moving.md lists its mistakes. */

import { createHmac } from 'node:crypto';
import { env } from 'node:process';

export function sign(timestamp: string): string {
  const text = `${timestamp}${env.HOSTED_PARTNER_ID}sid_request`;
  return createHmac('sha256', env.HOSTED_API_KEY ?? '')
    .update(text)
    .digest('base64');
}

export async function post(path: string, members: object) {
  const timestamp = new Date().toISOString();
  const signature = sign(timestamp);
  const response = await fetch(`${env.HOSTED_SANDBOX_BASE_URL}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ partner_id: env.HOSTED_PARTNER_ID, timestamp, signature, sec_key: signature, ...members }),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}
