/**
 * Keeps what other code has put on `Object.prototype` out of what is read. Where it is polluted, every
 * object seems to have properties that nobody gave it; a signature or an option could be one of them.
 *
 * @module
 */

/** The properties that `Object.prototype` has by itself (ECMA-262 §20.1.3 and §B.2.2). */
const standard: ReadonlySet<string> = new Set([
  'constructor',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  'toString',
  'valueOf',
  '__proto__',
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
]);

/** What a copy inherits from. One that inherits null itself would be read at half the speed. */
const nothing: object = Object.freeze(Object.create(null));

/** Reads a property of a caller's object: its own, or one of its class, but none of `Object.prototype`. */
export function readProperty(holder: object, name: string): unknown {
  // Asked first, so that of a proxy nothing but the property is asked for.
  if (name in Object.prototype && !isBelowObjectPrototype(holder, name)) return undefined;
  return (holder as Readonly<Record<string, unknown>>)[name];
}

/** Whether a value is an object, or a function, that has these methods: its own, or those of its class. */
export function hasMethods(value: unknown, ...names: readonly string[]): value is object {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  return names.every((name) => typeof readProperty(value, name) === 'function');
}

/**
 * Copies the properties `names` of a caller's object into one that inherits nothing; those it does not have
 * are undefined. Whatever other properties of its own it has are there too, as null: they are not read.
 */
export function copyProperties(given: object, names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(nothing);
  for (const name of names) copy[name] = readProperty(given, name);
  for (const name of Object.keys(given)) if (!(name in copy)) copy[name] = null;
  return copy;
}

/** Copies properties as {@link copyProperties} does; null where reading them throws, as a proxy or a getter may. */
export function tryCopyProperties(given: object, names: readonly string[]): Record<string, unknown> | null {
  try {
    return copyProperties(given, names);
  } catch {
    // What it threw may be anything, and is not shown.
    return null;
  }
}

/** The names of the properties of `Object.prototype` when none of them was strange. */
let cleanNames: readonly string[] = [];

/** Whether other code has put something on `Object.prototype`. */
export function isPolluted(): boolean {
  const names = Object.getOwnPropertyNames(Object.prototype);
  // Each call asks several times: names that were looked at before are only compared.
  if (isSameList(names, cleanNames)) return false;
  if (names.some(isStrange)) return true;
  cleanNames = names;
  return false;
}

function isSameList(names: readonly string[], others: readonly string[]): boolean {
  if (names.length !== others.length) return false;
  for (let at = 0; at < names.length; at++) if (names[at] !== others[at]) return false;
  return true;
}

/**
 * Makes the objects of parsed JSON, which nobody else may hold, inherit nothing. Only while
 * `Object.prototype` is polluted: for a page of links this takes longer than parsing it.
 */
export function detachFromPrototype<T>(json: T, polluted = isPolluted()): T {
  if (polluted) detach(json);
  return json;
}

/**
 * What `Object.prototype` is polluted with, as properties that are undefined: they are spread into an
 * object that other code is given, which then finds nothing else there.
 */
export function shadowPollution(): Readonly<Record<string, undefined>> {
  if (!isPolluted()) return noShadows;
  const names = Object.getOwnPropertyNames(Object.prototype).filter(isStrange);
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

const noShadows: Readonly<Record<string, undefined>> = Object.freeze({});

function isStrange(name: string): boolean {
  return !standard.has(name);
}

/** Writes JSON in which a `toJSON` has a say where it is a class's, and not one of all objects or arrays. */
export function writeJson(value: unknown): string {
  // Objects and arrays alike inherit it from there.
  return JSON.stringify(value, 'toJSON' in Array.prototype ? ownForm : undefined);
}

function detach(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) Object.setPrototypeOf(value, null);
  for (const inner of Object.values(value)) detach(inner);
}

// JSON.stringify() has asked `toJSON` for `value`; what it was asked of is still there.
function ownForm(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const raw = this[key];
  if (typeof raw !== 'object' || raw === null) return value;
  return !Array.isArray(raw) && isBelowObjectPrototype(raw, 'toJSON') ? value : raw;
}

function isBelowObjectPrototype(holder: object, name: string): boolean {
  for (let at: object | null = holder; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) return true;
  }
  return false;
}
