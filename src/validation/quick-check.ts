/**
 * Derives quick checks from schemas. A quick check finds out whether a schema accepts parsed JSON unchanged. It is
 * faster than the schema, because the schema copies an accepted value and lists the problems of a rejected value.
 *
 * If a schema would reject or change a value, its quick check rejects this value. A quick check may also reject a value
 * that the schema accepts. This happens for an unusual value, or for any value if the quick check does not know this
 * kind of schema. The schema then decides.
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Properties } from '../runtime/untrusted-objects.js';

/** The values that a schema of `structure.ts` accepts. */
export type Structure =
  | { readonly kind: 'list'; readonly entry: z.ZodMiniType; readonly rules: ListRules }
  | { readonly kind: 'record'; readonly fields: Fields }
  | { readonly kind: 'forms'; readonly forms: Forms };

/** How a list is checked. */
export interface ListRules {
  /** The message for a value that is not a list. Default `'must be a list'`. */
  readonly message?: string;
  /**
   * The largest number of entries. A list with more entries than its limit here is rejected before any entry is
   * checked. Default: any number.
   */
  readonly max?: number;
  /**
   * A quick check of the entries, for parsed JSON. This check replaces the check that is derived from the schema of the
   * entries.
   */
  readonly isOrdinary?: (entry: unknown) => boolean;
}

/** The fields of a record. */
export type Fields = Readonly<Record<string, z.ZodMiniType>>;

/** The forms that a value may have, by JSON type. */
export interface Forms {
  readonly string?: z.ZodMiniType;
  readonly list?: z.ZodMiniType;
  readonly record?: z.ZodMiniType;
}

const structures = new WeakMap<z.core.$ZodType, Structure>();

/**
 * Registers the structure that a schema accepts. A schema made from a function needs this, because zod cannot describe
 * it.
 */
export function describeStructure<Schema extends z.ZodMiniType>(schema: Schema, structure: Structure): Schema {
  structures.set(schema, structure);
  return schema;
}

/**
 * Whether `schema` surely accepts `json` and changes nothing in it. `json` must be parsed JSON: a caller's object
 * could change between the check and its use.
 */
export function isAcceptedAsIs<T>(schema: z.ZodMiniType<T>, json: unknown): json is T {
  let check = quickChecks.get(schema);
  if (check === undefined) {
    check = deriveCheck(schema);
    quickChecks.set(schema, check);
  }
  return check(json);
}

type QuickCheck = (json: unknown) => boolean;

const quickChecks = new WeakMap<z.ZodMiniType, QuickCheck>();

function deriveCheck(schema: z.ZodMiniType): QuickCheck {
  try {
    const rule = ruleOf(schema);
    return (value) => isAccepted(value, rule);
  } catch {
    // The schema contains itself, or this version of zod describes schemas differently.
    return () => false;
  }
}

/** Whether a value is accepted; `kind` is the kind of the value. */
type Check = (value: unknown, kind: number) => boolean;

/** The values that a schema accepts unchanged. */
interface Rule {
  /** The kinds of values that the schema always accepts, as bits. */
  readonly kinds: number;
  /** Decides about a value of any other kind; null if the schema accepts no such value. */
  readonly accepts: Check | null;
  /** Whether the schema may accept a value and change it. */
  readonly changes: boolean;
}

// The kinds of values. For most fields, only the kind has to be checked.
const absent = 1;
const nothing = 2;
const string = 4;
const boolean = 8;
const list = 16;
const record = 32;
const other = 64;
const present = nothing | string | boolean | list | record | other;

function kindOf(value: unknown): number {
  if (typeof value === 'string') return string;
  if (value === undefined) return absent;
  if (value === null) return nothing;
  if (typeof value === 'boolean') return boolean;
  if (typeof value !== 'object') return other;
  return Array.isArray(value) ? list : record;
}

function isAccepted(value: unknown, { kinds, accepts }: Rule): boolean {
  const kind = kindOf(value);
  return (kinds & kind) !== 0 || accepts?.(value, kind) === true;
}

// Stryker disable next-line ObjectLiteral: a missing property has the same meaning
const scalar: Rule = { kinds: 0, accepts: null, changes: false };
const composite: Rule = { kinds: 0, accepts: null, changes: true };
/** The rule of an unknown schema: no value passes its quick check. */
const unknownRule = composite;

function ruleOf(schema: z.core.$ZodType): Rule {
  const rule = ruleOfType(schema);
  const tests = testsOf(schema);
  if (tests === null) return unknownRule;
  if (tests.length === 0) return rule;
  return { ...rule, kinds: 0, accepts: (value) => isAccepted(value, rule) && tests.every((test) => test(value)) };
}

function ruleOfType(schema: z.core.$ZodType): Rule {
  const structure = structures.get(schema);
  if (structure !== undefined) return ruleOfStructure(structure);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ('coerce' in def) return unknownRule;
  switch (def.type) {
    case 'string':
      return { ...scalar, kinds: string };
    case 'boolean':
      return { ...scalar, kinds: boolean };
    case 'number':
      return { ...scalar, accepts: Number.isFinite };
    // A field that may have any value must still be present, if it is not optional.
    case 'unknown':
    case 'custom':
      return { ...scalar, kinds: present };
    case 'nullable':
      return withKind(ruleOf(def.innerType), nothing);
    case 'optional':
      return acceptsAbsence(schema) ? withKind(ruleOf(def.innerType), absent) : unknownRule;
    case 'array':
      return listRule(ruleOf(def.element));
    case 'object':
      return recordRule({
        shape: def.shape,
        keepsOthers: def.catchall !== undefined && ruleOf(def.catchall).kinds === present,
      });
    case 'union':
      // An exclusive union accepts a value only if exactly one of its forms accepts it. It has no quick check.
      return def.inclusive === false ? unknownRule : unionRule(def.options.map(ruleOf));
    default:
      return unknownRule;
  }
}

function ruleOfStructure(structure: Structure): Rule {
  switch (structure.kind) {
    case 'list':
      return listRule(ruleOf(structure.entry), structure.rules);
    case 'record':
      return recordRule({ shape: structure.fields, keepsOthers: true });
    case 'forms':
      return formsRule(structure.forms);
  }
}

function withKind(rule: Rule, kind: number): Rule {
  return { ...rule, kinds: rule.kinds | kind };
}

// Some optional schemas reject undefined, and some replace it with a default.
function acceptsAbsence(schema: z.core.$ZodType): boolean {
  const { success, data } = z.safeParse(schema, undefined);
  return success && data === undefined;
}

function listRule(element: Rule, { max = Number.POSITIVE_INFINITY, isOrdinary }: ListRules = {}): Rule {
  const accepts = isOrdinary ?? ((entry: unknown) => isAccepted(entry, element));
  return { ...composite, accepts: (value) => Array.isArray(value) && value.length <= max && value.every(accepts) };
}

// The JSON type of a value decides which form is checked.
function formsRule(forms: Forms): Rule {
  const text = forms.string && ruleOf(forms.string);
  const many = forms.list && ruleOf(forms.list);
  const one = forms.record && ruleOf(forms.record);
  const accepts: Check = (value, kind) => {
    const rule = kind === string ? text : kind === list ? many : kind === record ? one : undefined;
    return rule !== undefined && isAccepted(value, rule);
  };
  return { ...composite, accepts };
}

// Stryker disable next-line ConditionalExpression: a field that may have any value need not be checked
const decides = ({ rule }: { rule: Rule }) => rule.kinds !== (absent | present);

function recordRule({ shape, keepsOthers }: { shape: z.core.$ZodShape; keepsOthers: boolean }): Rule {
  // Stryker disable next-line MethodExpression: a field that may have any value need not be checked
  const fields = Object.entries(shape)
    // Every object inherits a property with a name such as `toString`, so a field with this name never looks absent.
    // The schema must decide.
    .map(([name, schema]) => ({ name, rule: name in Object.prototype ? unknownRule : ruleOf(schema) }))
    .filter(decides);

  function accepts(value: unknown, kind: number): boolean {
    if (kind !== record) return false;
    const properties = value as Properties;
    // The schema drops a property `__proto__`, because assigning it to a copy would set the copy's prototype.
    if (Object.hasOwn(properties, '__proto__')) return false;
    for (const { name, rule } of fields) if (!isAccepted(properties[name], rule)) return false;
    return keepsOthers || Object.keys(properties).every((name) => Object.hasOwn(shape, name));
  }
  return { ...composite, accepts };
}

// The first form that accepts a value decides the result. So the quick check uses a form only if no form before it may
// change values.
function unionRule(forms: readonly Rule[]): Rule {
  const last = forms.findIndex(({ changes }) => changes);
  const tried = last < 0 ? forms : forms.slice(0, last + 1);
  const checks = tried.flatMap(({ accepts }) => accepts ?? []);
  return {
    kinds: tried.reduce((kinds, form) => kinds | form.kinds, 0),
    accepts: (value, kind) => checks.some((accepts) => accepts(value, kind)),
    changes: last >= 0,
  };
}

interface CheckDef {
  readonly check: string;
  readonly fn?: (value: unknown) => unknown;
  readonly format?: string;
  readonly pattern?: RegExp;
}

/** The requirements of a schema besides the type of the value; null if they are not known. */
function testsOf(schema: z.core.$ZodType): readonly QuickCheck[] | null {
  const { def } = schema._zod;
  const checks = (def.checks ?? []).map(({ _zod }) => _zod.def as CheckDef);
  // Some schemas are checks themselves, such as `custom`.
  if ('check' in def) checks.unshift(def as unknown as CheckDef);
  const tests = checks.flatMap((check) => testOf(check) ?? []);
  return tests.length === checks.length ? tests : null;
}

function testOf({ check, fn, format, pattern }: CheckDef): QuickCheck | null {
  // Only `true` counts. An asynchronous check returns a promise, which is truthy.
  if (check === 'custom' && fn) return (value) => fn(value) === true;
  // A regular expression with the flag g or y keeps its position between calls, so its result may change.
  if (format === 'regex' && pattern && !/[gy]/.test(pattern.flags)) return (value) => pattern.test(value as string);
  return null;
}
