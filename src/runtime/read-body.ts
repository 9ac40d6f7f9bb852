/**
 * Reads bodies: up to a limit, before which nothing larger is read, and as the text they are.
 *
 * @module
 */

/** What was read of a body: all of it, or what came before the limit. */
export interface ReadBytes {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

/** Reads a body of at most `limit` bytes, after decompression; when `signal` aborts, no more of it. */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null | undefined,
  { limit, signal }: { readonly limit: number; readonly signal?: AbortSignal },
): Promise<ReadBytes> {
  if (!body) return { bytes: new Uint8Array(), isWhole: true };
  const reader = body.getReader();
  // Not awaited: a sender that does not stop must not hold the reader.
  const cancel = () => void reader.cancel().catch(() => undefined);
  // A body of a caller's own fetch may not listen to the signal.
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel);
  try {
    // One buffer that doubles: a chunk that is kept costs some 250 bytes, however few it holds. What a length
    // header claims is not allocated.
    let buffer = new Uint8Array();
    let length = 0;
    for (;;) {
      const read = await reader.read();
      if (read.done) return { bytes: buffer.subarray(0, length), isWhole: true };
      const chunk = toBytes(read.value);
      if (chunk === null) {
        cancel();
        throw new TypeError('a chunk of the body is not bytes');
      }
      const needed = length + chunk.length;
      if (needed > limit) {
        cancel();
        return { bytes: buffer.subarray(0, length), isWhole: false };
      }
      if (needed > buffer.length) {
        const larger = new Uint8Array(Math.max(needed, Math.min(2 * buffer.length, limit)));
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      // Copied at once: the stream may use the memory of a chunk again.
      buffer.set(chunk, length);
      length = needed;
    }
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

// A stream of a caller's own fetch may hand over any kind of view, or bare memory.
function toBytes(chunk: unknown): Uint8Array | null {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  // By name: memory of another realm is no instance of ours, and shared memory is not everywhere.
  const isMemory = /^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(chunk));
  return isMemory ? new Uint8Array(chunk as ArrayBuffer) : null;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const lossyUtf8 = new TextDecoder('utf-8');

/** The text of bytes, without a byte order mark; null where they are no UTF-8: a byte replaced in silence can change a name. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** What can be read of bytes that are no UTF-8, or not all of it. */
export function decodeLossy(bytes: Uint8Array): string {
  return lossyUtf8.decode(bytes);
}
