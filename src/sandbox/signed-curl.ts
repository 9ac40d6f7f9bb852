/**
 * Writes a request as commands for a POSIX shell, which sign it with the key in a variable.
 *
 * @module
 */

import { quoteForShell } from '../local/shell.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { isRecord, parseJson } from '../runtime/untrusted-objects.js';
import { signaturePropertyOf } from '../testing/authenticate.js';
import type { SigningFacts } from './signing-mistakes.js';
import type { SandboxRequest } from './types.js';

export interface CurlRequest extends Pick<SandboxRequest, 'operation' | 'method' | 'path'> {
  readonly baseUrl: string;
  /** The body, with or without a signature. */
  readonly sent: string;
}

/** Writes the commands; null if such commands cannot sign the request. */
export function writeSignedCurl(
  { operation, method, baseUrl, path, sent }: CurlRequest,
  { partnerId, wire, apiKeys }: SigningFacts,
): string | null {
  const json = parseJson(sent);
  if (!isRecord(json) || operation === null || apiKeys === null) return null;
  const isJobStatus = operation === 'jobs.status';
  const format = isJobStatus ? wire.jobTimestampFormat : wire.timestampFormat;
  const dates = { iso: '+%Y-%m-%dT%H:%M:%S.000Z', 'epoch-ms': '+%s000', 'epoch-s': '+%s' };
  const property = signaturePropertyOf(json, operation, wire);
  const body = { ...json, partner_id: partnerId, timestamp: '$timestamp', [property]: '$signature' };
  // In the text below, the shell replaces variables and commands, so these characters of the body are escaped.
  const escaped = JSON.stringify(body, null, 2)
    .replace(/[\\$`]/g, '\\$&')
    .replace('"\\$timestamp"', isJobStatus && format !== 'iso' ? '$timestamp' : '"$timestamp"')
    .replace('"\\$signature"', '"$signature"');
  return `command -v openssl >/dev/null || echo 'openssl is missing: install it to sign the request' >&2
timestamp=$(date -u ${dates[format]})
signature=$(printf '%s' "$timestamp"${quoteForShell(partnerId + assumedSignatureContext)} |
  openssl dgst -sha256 -hmac "$HOSTED_API_KEY" -binary | base64)
curl -i -X ${method} ${quoteForShell(baseUrl + path)} -H 'content-type: application/json' --data-binary @- <<END
${escaped}
END
`;
}
