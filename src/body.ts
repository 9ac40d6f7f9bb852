/**
 * Reads bodies: up to a limit, before which nothing larger is read, and as the text they are.
 *
 * @module
 */

/** What was read of a body: all of it, or what came before the limit. */
export interface ReadBytes {
  readonly bytes: Uint8Array;
  readonly whole: boolean;
}

/** Reads a body of at most `limit` bytes, after decompression; when `signal` aborts, no more of it. */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null,
  { limit, signal }: { readonly limit: number; readonly signal?: AbortSignal },
): Promise<ReadBytes> {
  const reader = body?.getReader();
  // Whoever made the body may not listen to the signal.
  const onAbort = () => reader?.cancel().catch(() => undefined);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await readChunks(reader, limit);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  limit: number,
): Promise<ReadBytes> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) break;
    length += chunk.value.length;
    if (length > limit) {
      // Not waited for: a sender that does not stop must not hold the reader.
      reader?.cancel().catch(() => undefined);
      return { bytes: concat(chunks, length - chunk.value.length), whole: false };
    }
    chunks.push(chunk.value);
  }
  return { bytes: concat(chunks, length), whole: true };
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

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only) return only;
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
