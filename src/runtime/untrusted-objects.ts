/**
 * Reads and writes objects that other code has made or may have changed: parsed JSON, and the objects of callers. JSON
 * is parsed within limits. Properties that other code has put on `Object.prototype` are ignored. If this prototype is
 * polluted, every object seems to have properties that were never set, for example a signature or an option.
 *
 * @module
 */

/** The properties of a JSON object. */
export type Properties = Readonly<Record<string, unknown>>;

/** Whether a value is an object, and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How many levels of objects and lists a response may have. Real responses have fewer than ten. */
const maxDepth = 64;

/**
 * How many properties an object may have. Real objects have fewer than a hundred. Copying a million properties takes
 * seconds.
 */
const maxProperties = 1_000;

/**
 * How many opening brackets a string may have. A page of 10,000 links has 40,000. `JSON.parse` takes seconds for
 * millions of brackets, whether they are nested or not.
 */
const maxBrackets = 250_000;

/**
 * Parses JSON; undefined if the string is not JSON, nests too deeply, has too many brackets, or has an object with too
 * many properties. The value inherits nothing that other code has put on `Object.prototype`. Below its top, it has no
 * properties that are named in `removed`.
 */
export function parseJson(text: string, removed: readonly string[] = []): unknown {
  if (hasTooManyBrackets(text)) return undefined;
  try {
    // The value is detached first. Otherwise `isTooLarge` would count properties that other code put on
    // `Object.prototype`.
    const value: unknown = detachFromPrototype(JSON.parse(text));
    return typeof value === 'object' && value !== null && isTooLarge(value, maxDepth, removed) ? undefined : value;
  } catch {
    // Not JSON.
  }
  return undefined;
}

// Brackets in strings count, too: to find out which brackets these are would take longer than parsing.
function hasTooManyBrackets(text: string): boolean {
  if (text.length <= maxBrackets) return false;
  let count = 0;
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > maxBrackets) return true;
    }
  }
  return false;
}

// Visits every value of a response. It creates no arrays (as `Object.values` would), because creating them takes about
// as long as parsing. For the same reason, it also removes properties: a second visit would take too long.
function isTooLarge(value: object, levels: number, removed: readonly string[]): boolean {
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const entry: unknown = value[at];
      if (typeof entry === 'object' && entry !== null && isTooLarge(entry, levels - 1, removed)) return true;
    }
    return false;
  }
  let properties = 0;
  for (const name in value) {
    properties += 1;
    if (properties > maxProperties) return true;
    if (levels < maxDepth && removed.includes(name)) delete value[name as never];
    const property: unknown = value[name as never];
    if (typeof property === 'object' && property !== null && isTooLarge(property, levels - 1, removed)) return true;
  }
  return false;
}

/**
 * If `Object.prototype` is polluted, makes the objects of parsed JSON inherit nothing. Otherwise it changes nothing,
 * because the change takes longer than parsing. Call this function before other code gets the objects, because it
 * changes their prototypes.
 */
export function detachFromPrototype<T>(json: T): T {
  if (foreignNames().length > 0) detach(json);
  return json;
}

function detach(value: unknown): void {
  // The entries of a list are not copied: it may have millions.
  if (Array.isArray(value)) for (const entry of value) detach(entry);
  if (!isRecord(value)) return;
  Object.setPrototypeOf(value, null);
  for (const inner of Object.values(value)) detach(inner);
}

/**
 * Writes JSON. A `toJSON` of a class is used; a `toJSON` that other code has put on all objects or arrays is ignored.
 */
export function writeJson(value: unknown): string {
  // `Array.prototype` inherits a `toJSON` of `Object.prototype`, so this check finds a `toJSON` on either prototype.
  return JSON.stringify(value, 'toJSON' in Array.prototype ? ignorePollutedToJson : undefined);
}

// JSON.stringify() calls `toJSON` before this function; `this[key]` is still the original value.
function ignorePollutedToJson(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const raw = this[key];
  if (typeof raw !== 'object' || raw === null) return value;
  return !Array.isArray(raw) && isBelowObjectPrototype(raw, 'toJSON') ? value : raw;
}

/**
 * The prototype of the objects that `copyProperties` creates. Objects with this prototype can be read twice as fast as
 * objects whose prototype is null.
 */
const emptyPrototype: object = Object.freeze(Object.create(null));

/** Reads a property of a caller's object or of the object's class, but not of `Object.prototype`. */
export function readProperty(holder: object, name: string): unknown {
  // Checks the name first, so that reading a proxy runs only the trap for this property.
  if (name in Object.prototype && !isBelowObjectPrototype(holder, name)) return undefined;
  return (holder as Readonly<Record<string, unknown>>)[name];
}

/**
 * Whether a value is an object or function that has these methods. The methods may be its own or inherited from its
 * class.
 */
export function hasMethods(value: unknown, ...names: readonly string[]): value is object {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  return names.every((name) => typeof readProperty(value, name) === 'function');
}

/** Whether a value is a promise, of any realm or library. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise || hasMethods(value, 'then');
}

/**
 * Copies properties of a caller's object. `names` lists these properties. The copy inherits nothing. Missing properties
 * are undefined in the copy. All other own properties are null in the copy: their values are not read.
 */
export function copyProperties(given: object, names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(emptyPrototype);
  for (const name of names) copy[name] = readProperty(given, name);
  for (const name of Object.keys(given)) if (!(name in copy)) copy[name] = null;
  return copy;
}

/**
 * Copies properties as {@link copyProperties} does. Null if reading a property throws, for example in a proxy or a
 * getter.
 */
export function tryCopyProperties(given: object, names: readonly string[]): Record<string, unknown> | null {
  try {
    return copyProperties(given, names);
  } catch {
    // The thrown value may contain anything, so it is not shown.
    return null;
  }
}

/**
 * Copies the own properties of an object, except undefined ones. Spread this copy over defaults, because the result of
 * a check has every known property, and those that the caller left out are undefined.
 */
export function withoutUndefined<Given extends object>(
  given: Given,
): { [Name in keyof Given]?: Exclude<Given[Name], undefined> } {
  const defined = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as { [Name in keyof Given]?: Exclude<Given[Name], undefined> };
}

function isBelowObjectPrototype(holder: object, name: string): boolean {
  for (let at: object | null = holder; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) return true;
  }
  return false;
}

/** The standard properties of `Object.prototype` (ECMA-262 §20.1.3 and §B.2.2). */
const standardNames: ReadonlySet<string> = new Set([
  ...[
    'constructor',
    'hasOwnProperty',
    'isPrototypeOf',
    'propertyIsEnumerable',
    'toLocaleString',
    'toString',
    'valueOf',
  ],
  ...['__proto__', '__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__'],
]);

/** The names that other code has put on `Object.prototype`. */
function foreignNames(): readonly string[] {
  return Object.getOwnPropertyNames(Object.prototype).filter((name) => !standardNames.has(name));
}

/**
 * An object that sets each polluted name of `Object.prototype` to undefined. Spread it into an object that is passed to
 * other code, to hide the polluted values.
 */
export function shadowPollution(): Readonly<Record<string, undefined>> {
  return Object.fromEntries(foreignNames().map((name) => [name, undefined]));
}
