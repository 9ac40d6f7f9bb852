/**
 * Reads bodies up to a limit, and decodes them.
 *
 * @module
 */

/** The bytes of a body: all, or those before the limit. */
export interface ReadBytes {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

/** Reads a body of at most `limit` bytes, after decompression; stops when `signal` aborts. */
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
  // By name: an ArrayBuffer of another realm is no instance of ours, and not every platform has SharedArrayBuffer.
  const isMemory = /^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(chunk));
  return isMemory ? new Uint8Array(chunk as ArrayBuffer) : null;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const lossyUtf8 = new TextDecoder('utf-8');

/** Decodes UTF-8, without a byte order mark; null if it is invalid: a replaced byte could change a name. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes what it can of bytes that may not be UTF-8. */
export function decodeLossy(bytes: Uint8Array): string {
  return lossyUtf8.decode(bytes);
}
