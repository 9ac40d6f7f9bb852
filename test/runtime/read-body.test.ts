/** Reading bodies: every byte once and in order, whatever chunks they come in, and nothing kept of a chunk. */

import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { decodeLossy, decodeUtf8 } from '../../src/runtime/bytes.js';
import { readBytes } from '../../src/runtime/read-body.js';

/** A body of these chunks, of whatever kind. */
function bodyOf(...chunks: readonly unknown[]): ReadableStream<Uint8Array> {
  const queue = [...chunks];
  return new ReadableStream({
    pull(controller) {
      if (queue.length === 0) controller.close();
      else controller.enqueue(queue.shift() as Uint8Array);
    },
  });
}

/** A body of these chunks that does not end, and whether it was cancelled. */
function watched(...chunks: readonly unknown[]) {
  const queue = [...chunks];
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (queue.length > 0) controller.enqueue(queue.shift() as Uint8Array);
    },
    cancel() {
      cancelled = true;
    },
  });
  return { stream, isCancelled: () => cancelled };
}

const read = (body: ReadableStream<Uint8Array> | null, limit = 1_000) => readBytes(body, { limit });
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
const bytesOf = (value: string) => new TextEncoder().encode(value);

test('readBytes() of no body, and of an empty one, is nothing at all', async () => {
  for (const body of [null, bodyOf(), bodyOf(new Uint8Array())]) {
    expect(await read(body)).toEqual({ bytes: new Uint8Array(), isWhole: true });
  }
});

test.each([1, 2, 3, 7, 64, 1_000])('readBytes() puts chunks of %d bytes together in order', async (size) => {
  const whole = Uint8Array.from({ length: 1_000 }, (_, index) => (index * 31) % 256);
  const chunks = Array.from({ length: Math.ceil(1_000 / size) }, (_, at) => whole.slice(at * size, (at + 1) * size));

  const { bytes, isWhole } = await read(bodyOf(...chunks));

  expect([Buffer.from(bytes).equals(whole), isWhole]).toEqual([true, true]);
});

test('readBytes() mixes no bodies that are read at the same time, whatever their sizes', async () => {
  const bodies = Array.from({ length: 200 }, (_, at) =>
    Array.from({ length: 1 + (at % 5) }, (_, part) => new Uint8Array((at * 97 * (part + 1)) % 9_000).fill(at)),
  );

  const results = await Promise.all(bodies.map((chunks) => read(bodyOf(...chunks), 100_000)));

  for (const [at, { bytes }] of results.entries()) {
    const length = (bodies[at] ?? []).reduce((sum, chunk) => sum + chunk.length, 0);
    expect(Buffer.from(bytes).equals(Buffer.alloc(length, at))).toBe(true);
  }
});

test('readBytes() takes empty chunks for nothing, wherever they come', async () => {
  const empty = new Uint8Array();

  const { bytes, isWhole: whole } = await read(bodyOf(empty, bytesOf('ab'), empty, empty, bytesOf('c'), empty), 3);

  expect([text(bytes), whole]).toEqual(['abc', true]);
});

test('readBytes() copies a chunk before the next one is asked for, as its memory may be used again', async () => {
  const memory = new Uint8Array(2);
  const parts = ['ab', 'cd', 'ef'];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = parts.shift();
        memory.set(bytesOf(part ?? 'xx'));
        if (part === undefined) controller.close();
        else controller.enqueue(memory);
      },
    },
    { highWaterMark: 0 },
  );

  expect(text((await read(body)).bytes)).toBe('abcdef');
});

test('readBytes() keeps nothing of the only chunk of a body either', async () => {
  const memory = bytesOf('abc');

  const { bytes } = await read(bodyOf(memory));
  memory.fill(0);

  expect(text(bytes)).toBe('abc');
});

test('readBytes() reads the bytes of every kind of view, and of no more than the view', async () => {
  const memory = Uint8Array.from({ length: 64 }, (_, index) => index);
  const views = [Uint8Array, Uint8ClampedArray, Int8Array, Uint16Array, Float64Array, BigInt64Array].map(
    (View) => new View(memory.buffer, 8, 1),
  );

  for (const view of [...views, new DataView(memory.buffer, 8, 5), Buffer.from(memory.buffer, 8, 3)]) {
    const { bytes } = await read(bodyOf(view));

    expect([...bytes]).toEqual([...memory.subarray(8, 8 + view.byteLength)]);
  }
});

test('readBytes() reads a chunk that is bare memory', async () => {
  const shared = new SharedArrayBuffer(2);
  new Uint8Array(shared).set(bytesOf('cd'));

  const { bytes } = await read(bodyOf(bytesOf('ab').buffer, shared));

  expect(text(bytes)).toBe('abcd');
});

test.each([['a string'], [[97, 98]], [{ length: 2 }], [5], [null]])(
  'readBytes() rejects where a chunk has no bytes: %j',
  async (chunk) => {
    const body = watched(bytesOf('ab'), chunk);

    await expect(read(body.stream)).rejects.toThrow(new TypeError('a chunk of the body is not bytes'));

    expect(body.isCancelled()).toBe(true);
  },
);

test('readBytes() ends a body that is too large', async () => {
  const body = watched(bytesOf('abc'));

  expect(await read(body.stream, 2)).toMatchObject({ isWhole: false });

  expect(body.isCancelled()).toBe(true);
});

test('readBytes() ends a body when its signal is aborted, before or meanwhile', async () => {
  const [first, second] = [watched(), watched(bytesOf('ab'))];
  const ending = new AbortController();

  const reading = readBytes(second.stream, { limit: 10, signal: ending.signal });
  ending.abort();
  for (const aborted of [reading, readBytes(first.stream, { limit: 10, signal: ending.signal })]) {
    await expect(aborted).rejects.toBe(ending.signal.reason);
  }

  expect([first.isCancelled(), second.isCancelled()]).toEqual([true, true]);
  expect(getEventListeners(ending.signal, 'abort')).toEqual([]);
});

test('readBytes() leaves no listener behind, however a body ends', async () => {
  const { signal } = new AbortController();

  await readBytes(bodyOf(bytesOf('ab')), { limit: 10, signal });
  await readBytes(bodyOf(bytesOf('ab')), { limit: 1, signal });
  await readBytes(bodyOf('ab'), { limit: 10, signal }).catch(() => undefined);

  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('readBytes() takes at most twice the memory of its bytes, at most 64 KiB more, and no more than the limit', async () => {
  const takenOf = async (count: number, limit: number) => {
    const taken: number[] = [];
    const body = bodyOf(...Array.from({ length: count }, () => Uint8Array.of(1)));
    const { bytes } = await readBytes(body, { limit, onGrowth: (bytes) => void taken.push(bytes) });
    expect(bytes).toEqual(new Uint8Array(count).fill(1));
    return taken;
  };

  expect(await takenOf(5, 1_000_000)).toEqual([1, 2, 4, 4, 8]);
  expect(await takenOf(5, 6)).toEqual([1, 2, 4, 4, 6]);
  const taken = await takenOf(70_000, 1_000_000);
  expect(Math.max(...taken.map((bytes, index) => bytes - index - 1))).toBeLessThan(64 * 1024);
});

test('readBytes() frees the memory of a body that is not read to its end', async () => {
  const sizes: number[] = [];
  const free = vi.spyOn(ArrayBuffer.prototype as unknown as { transfer(length: number): ArrayBuffer }, 'transfer');
  onTestFinished(() => free.mockRestore());
  free.mockImplementation(function (this: ArrayBuffer, length: number) {
    sizes.push(this.byteLength, length);
    return this;
  });

  await expect(read(bodyOf(bytesOf('ab'), bytesOf('cde'), 'no bytes'))).rejects.toThrow(TypeError);
  await read(bodyOf(bytesOf('ab'), bytesOf('cde')));

  expect(sizes).toEqual([2, 0, 3, 0]);
});

// RFC 3629: 0xff is in no UTF-8.
test('decodeUtf8() gives null for what is not UTF-8, and decodeLossy() what it can', () => {
  const invalid = Uint8Array.of(0x61, 0xff);

  expect([decodeUtf8(invalid), decodeUtf8(bytesOf('ë'))]).toEqual([null, 'ë']);
  expect(decodeLossy(invalid)).toBe('a\u{fffd}');
});

test('readBytes() counts bytes, not elements, against its limit', async () => {
  expect(await read(bodyOf(new Uint16Array(2)), 3)).toMatchObject({ isWhole: false });
  expect(await read(bodyOf(new Uint16Array(2)), 4)).toMatchObject({ isWhole: true });
});

test('readBytes() gives what came before the chunk that is too much', async () => {
  const { bytes, isWhole: whole } = await read(bodyOf(bytesOf('ab'), bytesOf('cd'), bytesOf('efg'), bytesOf('h')), 6);

  expect([text(bytes), whole]).toEqual(['abcd', false]);
});
