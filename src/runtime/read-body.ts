/**
 * Reads bodies up to a limit, and decodes them.
 *
 * @module
 */

/** The limits of reading a body. */
export interface ReadLimits {
  /** The largest number of bytes to read. */
  readonly limit: number;
  /** Ends the reading when it aborts. */
  readonly signal?: AbortSignal;
  /** Called for each chunk, with the bytes of memory that the body takes with it. If it throws, the reading ends. */
  readonly onGrowth?: (bytes: number) => void;
}

/**
 * Reads at most `limit` bytes of a body, after decompression.
 *
 * @returns All bytes of the body, or the bytes up to the limit.
 */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null | undefined,
  { limit, signal, onGrowth }: ReadLimits,
): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }> {
  if (!body) return { bytes: new Uint8Array(), isWhole: true };
  const reader = body.getReader();
  // The cancellation is not awaited: a sender that does not stop must not keep the reader waiting.
  const cancel = () => void reader.cancel().catch(() => undefined);
  // A body from a caller's own fetch may ignore the signal.
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel);
  try {
    // All chunks are copied into one buffer, which doubles its size when it is full. With a separate array for each
    // chunk, even a tiny chunk would need about 250 more bytes. The content-length header does not decide the buffer's
    // size, because the header may be wrong.
    let buffer = new Uint8Array();
    let length = 0;
    for (;;) {
      const read = await reader.read();
      if (read.done) return { bytes: buffer.subarray(0, length), isWhole: true };
      const chunk = toBytes(read.value);
      if (chunk === null) throw new TypeError('a chunk of the body is not bytes');
      const needed = length + chunk.length;
      if (needed > limit) {
        cancel();
        return { bytes: buffer.subarray(0, length), isWhole: false };
      }
      const capacity = needed > buffer.length ? Math.max(needed, Math.min(2 * buffer.length, limit)) : buffer.length;
      onGrowth?.(capacity);
      if (capacity > buffer.length) {
        const larger = new Uint8Array(capacity);
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      // A chunk is copied at once, because the stream may reuse its memory.
      buffer.set(chunk, length);
      length = needed;
    }
  } catch (error) {
    cancel();
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

// A stream from a caller's own fetch may give any kind of view, or an ArrayBuffer.
function toBytes(chunk: unknown): Uint8Array | null {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  // Types are compared by name, because an ArrayBuffer of another realm is not an instance of our ArrayBuffer, and some
  // platforms have no SharedArrayBuffer.
  const tag = Object.prototype.toString.call(chunk);
  const isMemory = tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]';
  return isMemory ? new Uint8Array(chunk as ArrayBuffer) : null;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const lossyUtf8 = new TextDecoder('utf-8');

/**
 * Decodes UTF-8. A byte order mark at the beginning is left out. Null if the bytes are invalid. They are not replaced,
 * because a replaced byte could change a person's name.
 */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes bytes as UTF-8, and replaces invalid bytes. */
export function decodeLossy(bytes: Uint8Array): string {
  return lossyUtf8.decode(bytes);
}
