/** A signer whose key never enters this process: a key service makes the MAC. */

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
        // Less than the client's own "timeoutMs", which signing counts towards.
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      const mac = await response.text();
      if (response.ok && isMac(mac)) return mac;
      throw new Error(`it answered ${response.status}`);
    } catch (error) {
      // The client shows nothing that a signer throws, since it may hold a key: tell it here.
      console.error(`No MAC from the key service: ${error}`);
      throw error;
    }
  }
  return {
    name: 'key-service',
    // Where this throws, nothing is sent: the call rejects with a HostedConfigError.
    sign: macOf,
    async verify(signature, input) {
      // Nobody gets to keep the key service busy with nonsense.
      if (!isMac(signature)) return false;
      return timingSafeEqual(Buffer.from(signature), Buffer.from(await macOf(input)));
    },
  };
}

// 32 bytes as canonical base64: the last digit carries two bits that count.
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
