/** Makes calls of one kind, one after the other, to a service in memory or on loopback. */

import { assertSigned, assertValue, kinds, proveCall } from '../service/proof.ts';
import { createTarget } from '../service/target.ts';
import { createVariant } from '../variants/create-variant.ts';
import { type Block, type BlockSettings, measureCalls } from './block.ts';

export interface CallsSettings {
  readonly kind: keyof typeof kinds;
  /** The URL of the service, or null if the service is in memory. */
  readonly url: string | null;
  /** The number of calls in one turn. */
  readonly times: number;
}

export async function prepare(settings: CallsSettings & BlockSettings): Promise<Block> {
  const { url, times } = settings;
  const kind = kinds[settings.kind];
  const target = createTarget(url);
  const variant = await createVariant(settings.variant, settings.dist, target);
  const call = settings.kind === 'status' ? variant.status : variant.list;

  /** Returns the response of the service to each call. In memory, it first writes this response. */
  async function serve(): Promise<string> {
    if (url === null) {
      const response = kind.write();
      target.respondWith(response);
      return Buffer.from(response).toString();
    }
    target.respondWith(null);
    return (await globalThis.fetch(url + kind.path, { method: 'POST', body: '{}' })).text();
  }

  async function prove(): Promise<void> {
    await proveCall({ variant, call, kind, target }, await serve());
  }

  await prove();
  return async () => {
    await prove();
    const response = await serve();
    for (let count = 0; count < times / 4; count++) await call();
    target.sent.length = 0;
    const { cpu, wall, last } = await measureCalls(times, call);
    assertValue(last, { response, kind, variant });
    if (variant.isWhole) assertSigned(target.sent, times);
    return { cpu, wall };
  };
}
