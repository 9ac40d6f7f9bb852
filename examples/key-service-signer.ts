/** A signer for a key that never enters this process: a key service computes the signature (MAC). */

import { timingSafeEqual } from 'node:crypto';
import { env } from 'node:process';
import { HostedClient, type SignatureInput, type Signer } from 'hosted-client';

export function keyServiceSigner(options: { url: string; token: string; timeoutMs: number }): Signer {
  async function macOf({ timestamp, partnerId }: SignatureInput): Promise<string> {
    try {
      const response = await fetch(options.url, {
        method: 'POST',
        headers: { authorization: `Bearer ${options.token}`, 'content-type': 'text/plain' },
        body: `${timestamp}${partnerId}sid_request`,
        // Set this limit lower than the client's "timeoutMs", which includes the time to sign.
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      const mac = await response.text();
      if (response.ok && isMac(mac)) return mac;
      throw new Error(`it answered ${response.status}`);
    } catch (error) {
      // Log the error here: the client never shows the errors of a signer, because they may contain a key.
      console.error(`No MAC from the key service: ${error}`);
      throw error;
    }
  }
  return {
    name: 'key-service',
    // If this throws, the client sends nothing, and the call rejects with a HostedConfigError.
    sign: macOf,
    async verify(signature, input) {
      // Malformed signatures are rejected here, so that they do not cause calls to the key service.
      if (!isMac(signature)) return false;
      return timingSafeEqual(Buffer.from(signature), Buffer.from(await macOf(input)));
    },
  };
}

// 32 bytes as canonical base64. In the last digit, only four of the six bits are data, and the other two must be 0.
function isMac(text: string): boolean {
  return /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text);
}

const client = HostedClient.fromEnv({
  signer: keyServiceSigner({
    url: env.KEY_SERVICE_URL ?? '',
    token: env.KEY_SERVICE_TOKEN ?? '',
    timeoutMs: Number(env.KEY_SERVICE_TIMEOUT_MS ?? 2_000),
  }),
});

try {
  const { state } = await client.jobs.status({ userId: env.USER_ID ?? '', jobId: env.JOB_ID ?? '' });
  console.log(`signed and verified elsewhere: ${state}`);
} catch (error) {
  console.error(String(error));
}
