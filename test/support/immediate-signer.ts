import { sign, apiKey as usualKey } from './fake-fetch.js';

/** Creates a signer by node:crypto that is done at once, so that no thread decides what happens when. */
export function createImmediateSigner(apiKey = usualKey) {
  return {
    name: 'immediate',
    sign: ({ timestamp }: { timestamp: string }) => sign(timestamp, apiKey),
    verify: (signature: string, { timestamp }: { timestamp: string }) => signature === sign(timestamp, apiKey),
  };
}
