/**
 * Bytes of any realm, such as those of a test runner, and UTF-8.
 *
 * @module
 */

import { builtinModule } from './builtin-module.js';

/** Whether a value is a Uint8Array, of any realm. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}

/** A value's bytes, which share its memory; null if it has none. */
export function toBytes(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  // Types are compared by name, because an ArrayBuffer of another realm is not an instance of our ArrayBuffer, and some
  // platforms have no SharedArrayBuffer.
  const tag = Object.prototype.toString.call(value);
  const isMemory = tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]';
  return isMemory ? new Uint8Array(value as ArrayBuffer) : null;
}

/** The platform's coders. They are made at first use, because jest's jsdom has none, and kept, because making one is dear. */
let coders: ReturnType<typeof createCoders> | undefined;

function createCoders() {
  const { TextEncoder, TextDecoder } = globalThis.TextEncoder
    ? globalThis
    : (builtinModule('util') as typeof globalThis);
  return {
    encoder: new TextEncoder(),
    strict: new TextDecoder('utf-8', { fatal: true }),
    lossy: new TextDecoder('utf-8'),
  };
}

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  coders ??= createCoders();
  return coders.encoder.encode(text);
}

/**
 * Decodes UTF-8. A byte order mark at the beginning is left out. Null if the bytes are invalid. They are not replaced,
 * because a replaced byte could change a person's name.
 */
export function decodeUtf8(bytes: Uint8Array): string | null {
  coders ??= createCoders();
  try {
    return coders.strict.decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes bytes as UTF-8, and replaces invalid bytes. */
export function decodeLossy(bytes: Uint8Array): string {
  coders ??= createCoders();
  return coders.lossy.decode(bytes);
}
