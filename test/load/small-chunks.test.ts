// What a client holds while a body comes in the smallest chunks there are: the bytes, and not the chunks.

import { expect, test } from 'vitest';
import { collector } from '../support/collector.js';
import { clientOf, signed } from '../support/fake-fetch.js';

const megabyte = 1024 * 1024;
const bodyBytes = 4 * megabyte;
const mostGrowth = 80 * megabyte;

const job = { user_id: 'user-1', job_id: 'job-1' };

/** A signed record of exactly 4 MiB. */
function largeRecord(record: object): Uint8Array {
  const write = (photo: string) => Buffer.from(JSON.stringify({ ...signed(record), Photo: photo }));
  return write('A'.repeat(bodyBytes - write('').length));
}

/** These bytes one by one, each a chunk of its own, and the most that the heap grew while they were read. */
function streamOf(bytes: Uint8Array) {
  const collect = collector();
  collect();
  const before = process.memoryUsage().heapUsed;
  const seen = { chunks: 0, growth: 0 };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (seen.chunks % megabyte === 0) {
        collect();
        seen.growth = Math.max(seen.growth, process.memoryUsage().heapUsed - before);
      }
      if (seen.chunks === bytes.length) return controller.close();
      // A view of one byte takes some 100 bytes of the heap for as long as something holds it.
      controller.enqueue(bytes.subarray(seen.chunks, seen.chunks + 1));
      seen.chunks += 1;
    },
  });
  return { body, seen };
}

test('a response of 4 MiB in chunks of one byte is read whole, and grows the heap by at most 80 MiB', async () => {
  const { body, seen } = streamOf(largeRecord({ ...job, job_complete: false }));
  const { client } = clientOf(() => new Response(body, { headers: { 'content-type': 'application/json' } }));

  const status = await client.jobs.status({ userId: 'user-1', jobId: 'job-1' });

  expect(status).toMatchObject({ userId: 'user-1', jobId: 'job-1', state: 'pending' });
  expect(seen.chunks).toBe(bodyBytes);
  expect(seen.growth).toBeLessThanOrEqual(mostGrowth);
}, 120_000);

test('a callback of 4 MiB in chunks of one byte is handed over, and grows the heap by at most 80 MiB', async () => {
  const { body, seen } = streamOf(largeRecord({ ResultCode: '0810', HostedJobID: '0000001111', PartnerParams: job }));
  const { client } = clientOf(signed({ ...job, job_complete: true, job_success: true }));
  const handedOver: string[] = [];
  const handle = client.callbacks.handler({
    maxBytes: 2 * bodyBytes,
    onEvent: ({ jobId }, { state }) => void handedOver.push(`${jobId} ${state}`),
  });

  const init = { method: 'POST', body, duplex: 'half' };
  const request = new Request('https://partner.test/callbacks', init);
  const { status } = await handle(request);

  expect([status, handedOver]).toEqual([200, ['job-1 succeeded']]);
  expect(seen.chunks).toBe(bodyBytes);
  expect(seen.growth).toBeLessThanOrEqual(mostGrowth);
}, 120_000);
