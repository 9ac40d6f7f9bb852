/**
 * Schemas of lists, of records, and of values with several forms. They stop after {@link maxIssues} issues. zod's own
 * schemas keep every issue and copy every entry, so a body of a few megabytes would need gigabytes of memory.
 *
 * @module
 */

import * as z from 'zod/mini';
import { maxIssues } from '../errors/hosted-error.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { describeStructure, type Fields, type Forms, isAcceptedAsIs, type ListRules } from './quick-check.js';

/** A list. Its entries are checked one by one, until {@link maxIssues} issues are found. */
export function list<T>(entry: z.ZodMiniType<T>, rules: ListRules = {}): z.ZodMiniType<T[]> {
  const { message = 'must be a list', max = Number.POSITIVE_INFINITY } = rules;
  const { isOrdinary = (given: unknown) => isAcceptedAsIs(entry, given) } = rules;
  const schema = createSchema<T[]>((value, context) => {
    if (!Array.isArray(value)) return addIssue(context, message);
    if (value.length > max) return addIssue(context, `must have at most ${max} entries`);
    const entries: T[] = [];
    const before = context.issues.length;
    for (let index = 0; index < value.length; index++) {
      const given: unknown = value[index];
      // An ordinary entry needs no full check, even if another entry is invalid.
      if (isOrdinary(given)) {
        entries.push(given as T);
        continue;
      }
      const parsed = z.safeParse(entry, given);
      if (parsed.success) entries.push(parsed.data);
      else if (addIssues(parsed.error.issues, index, context) - before >= maxIssues) break;
    }
    // If there was an issue, the given list is returned. `entries` lacks the invalid entries, so a check of the whole
    // list would find later entries at a wrong index.
    return context.issues.length > before ? (value as T[]) : entries;
  });
  return describeStructure(schema, { kind: 'list', entry, rules });
}

type RecordOf<Shape extends Fields> = z.output<z.ZodMiniObject<Shape, z.core.$loose>>;

/**
 * An object with these fields and any others. Only own properties are read. Every field is an own property of the
 * result. So an inherited property is never read in place of a field.
 */
export function record<Shape extends Fields>(
  fields: Shape,
  message = 'must be an object',
): z.ZodMiniType<RecordOf<Shape>> {
  const schemas = Object.entries(fields).map(([name, schema]) => {
    return { name, schema, mayBeMissing: z.safeParse(schema, undefined).success };
  });
  const blank: Readonly<Record<string, unknown>> = Object.fromEntries(schemas.map(({ name }) => [name, undefined]));
  const schema = createSchema((value, context) => {
    if (!isRecord(value)) return addIssue(context, message);
    // Assigning `__proto__` to a copy would set the copy's prototype.
    const { ['__proto__']: _dropped, ...given } = value;
    const copy: Record<string, unknown> = { ...blank, ...given };
    for (const { name, schema, mayBeMissing } of schemas) {
      if (copy[name] === undefined && mayBeMissing) continue;
      const parsed = z.safeParse(schema, copy[name]);
      if (parsed.success) copy[name] = parsed.data;
      else addIssues(parsed.error.issues, name, context);
    }
    return copy as RecordOf<Shape>;
  });
  return describeStructure(schema, { kind: 'record', fields });
}

/** A value with one of several forms. Its JSON type decides which form is checked and reported. */
export function oneOf<Given extends Forms>(
  forms: Given,
  message: string,
): z.ZodMiniType<z.output<Exclude<Given[keyof Given & keyof Forms], undefined>>> {
  const schema = createSchema((value, context) => {
    const form =
      typeof value === 'string' ? forms.string : Array.isArray(value) ? forms.list : isRecord(value) && forms.record;
    if (!form) return addIssue(context, message);
    const parsed = z.safeParse(form, value);
    if (!parsed.success) addIssues(parsed.error.issues, null, context);
    return parsed.data as never;
  });
  return describeStructure(schema, { kind: 'forms', forms });
}

type Context = z.core.ParsePayload;

function createSchema<T>(check: (value: unknown, context: Context) => T): z.ZodMiniType<T> {
  return z.transform(check);
}

function addIssue(context: Context, message: string): never {
  context.issues.push({ code: 'custom', input: undefined, message });
  return z.NEVER;
}

/**
 * Adds the issues of an entry or field to the issues of the whole value. Returns how many issues the whole value has.
 */
function addIssues(issues: readonly z.core.$ZodIssue[], at: PropertyKey | null, context: Context): number {
  for (const issue of issues) {
    const path = at === null ? issue.path : [at, ...issue.path];
    context.issues.push({ ...issue, path } as z.core.$ZodRawIssue);
  }
  return context.issues.length;
}
