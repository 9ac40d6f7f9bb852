/** Keeps very many calls open at once, in memory, and measures the memory and CPU time of each call. */

import { assertSigned, assertValue, kinds, proveCall } from '../service/proof.ts';
import { createTarget } from '../service/target.ts';
import { createVariant } from '../variants/create-variant.ts';
import { type Block, type BlockSettings, measureHeap } from './block.ts';

export interface InFlightSettings {
  readonly calls: number;
}

export async function prepare({ variant: name, dist, calls }: InFlightSettings & BlockSettings): Promise<Block> {
  const kind = kinds.status;
  const target = createTarget(null);
  const respond = () => target.fetch(target.baseUrl);
  let opened = Promise.resolve();
  const variant = await createVariant(name, dist, {
    ...target,
    // This fetch records only the body of a request. The list of bodies is emptied before the heap is measured, so the
    // measured memory belongs to the variant.
    fetch: (_url, init) => {
      target.sent.push(String(init?.body));
      return opened.then(respond);
    },
  });
  const call = variant.status;

  return async () => {
    await proveCall({ variant, call, kind, target }, serve());
    const response = serve();
    target.sent.length = 0;
    let open: () => void = () => undefined;
    opened = new Promise((resolve) => {
      open = resolve;
    });
    const before = await measureHeap();
    const opening = process.cpuUsage();
    const ending = Promise.all(Array.from({ length: calls }, call));
    while (target.sent.length < calls) await new Promise((resolve) => setImmediate(resolve));
    const held = process.cpuUsage(opening);
    if (variant.isWhole) assertSigned(target.sent, calls);
    target.sent.length = 0;
    const during = await measureHeap();
    const closing = process.cpuUsage();
    open();
    const values = await ending;
    const ended = process.cpuUsage(closing);
    assertValue(values.at(-1), { response, kind, variant });
    return {
      heap: (during - before) / calls,
      cpu: (held.user + held.system + ended.user + ended.system) / calls,
    };
  };

  function serve(): string {
    const response = kind.write();
    target.respondWith(response);
    return response;
  }
}
