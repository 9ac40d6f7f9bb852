/**
 * Built-in modules of Node, Bun, Deno and Workers.
 *
 * @module
 */

interface Platform {
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

/**
 * A built-in module; null if the platform does not have it. It is looked up by name, because bundlers would try to
 * bundle an import.
 */
export function builtinModule(name: string, { process }: Platform = globalThis as Platform): unknown {
  try {
    return process?.getBuiltinModule?.(name) ?? null;
  } catch {
    // In Next's Edge runtime, every function of `process` exists but throws.
    return null;
  }
}
