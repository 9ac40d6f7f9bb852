/**
 * Reads bodies up to a limit.
 *
 * @module
 */

import { toBytes } from './bytes.js';

/**
 * Reads at most `limit` bytes of a body, after decompression. The reading ends when `signal` aborts. `onGrowth` is called
 * for each chunk, with the bytes of memory that the body takes with it: if it throws, the reading ends, too.
 *
 * @returns All bytes of the body, or the bytes up to the limit.
 */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null | undefined,
  { limit, signal, onGrowth }: { limit: number; signal?: AbortSignal; onGrowth?: (bytes: number) => void },
): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }> {
  if (!body) return { bytes: new Uint8Array(), isWhole: true };
  const reader = body.getReader();
  // The cancellation is not awaited: a sender that does not stop must not keep the reader waiting.
  const cancel = () => void reader.cancel().catch(() => undefined);
  // A body from a caller's own fetch may ignore the signal.
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel);
  // Chunks are copied into segments: with a separate array for each chunk, even a tiny chunk would need about 250 more
  // bytes. A segment is as large as all before it, up to a limit. One buffer that doubles its size would leave its former
  // memory behind. The content-length header does not decide about memory, because it may be wrong.
  const full: Uint8Array[] = [];
  let segment = new Uint8Array();
  let used = 0;
  let length = 0;
  let capacity = 0;
  try {
    for (;;) {
      const read = await reader.read();
      // A body that was cancelled ends as if it were whole.
      signal?.throwIfAborted();
      if (read.done) return { bytes: join(full, segment.subarray(0, used)), isWhole: true };
      // A stream from a caller's own fetch may give any kind of view, or an ArrayBuffer.
      const chunk = toBytes(read.value);
      if (chunk === null) throw new TypeError('a chunk of the body is not bytes');
      if (length + chunk.length > limit) {
        cancel();
        return { bytes: join(full, segment.subarray(0, used)), isWhole: false };
      }
      const rest = chunk.subarray(segment.length - used);
      const more = rest.length > 0 ? Math.max(rest.length, Math.min(length, maxSegmentBytes, limit - length)) : 0;
      capacity += more;
      onGrowth?.(capacity);
      // A chunk is copied at once, because the stream may reuse its memory.
      segment.set(chunk.subarray(0, chunk.length - rest.length), used);
      used += chunk.length - rest.length;
      length += chunk.length;
      if (more === 0) continue;
      if (used > 0) full.push(segment);
      segment = new Uint8Array(more);
      segment.set(rest);
      used = rest.length;
    }
  } catch (error) {
    cancel();
    for (const { buffer } of [...full, segment]) free(buffer);
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

/** The largest size of a segment, in bytes, unless a chunk is larger. */
const maxSegmentBytes = 64 * 1024;

/** Frees memory at once, where the platform can: garbage of many bodies would be collected late. */
function free(buffer: ArrayBufferLike & { transfer?(length: number): unknown }): void {
  buffer.transfer?.(0);
}

function join(full: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  if (full.length === 0) return last;
  const joined = new Uint8Array(full.reduce((sum, { length }) => sum + length, last.length));
  let at = 0;
  for (const part of [...full, last]) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
