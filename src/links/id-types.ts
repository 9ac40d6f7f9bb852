/**
 * The ID types that callers pass: their schemas, and their form on the wire (docs/protocol.md §2.1).
 *
 * @module
 */

import * as z from 'zod/mini';
import { maxIssues } from '../errors/hosted-error.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { inputObject } from '../validation/check.js';
import { anyString, choice } from '../validation/input.js';
import type { IdType, VerificationMethod } from './types.js';

const verificationMethods: readonly VerificationMethod[] = [
  'biometric_kyc',
  'doc_verification',
  'enhanced_document_verification',
  'enhanced_kyc',
];

export const newIdTypes = idTypeList({
  country: countryCode(/^[A-Za-z]{2}$/),
  method: choice(verificationMethods, `must be one of ${verificationMethods.join(', ')}`),
});

/**
 * The ID types of a changed link. A caller may pass the entries that the service sent, so unknown verification methods
 * and empty fields are accepted.
 */
export const changedIdTypes = idTypeList({ country: countryCode(/^(?:[A-Za-z]{2})?$/), method: anyString });

function countryCode(pattern: RegExp) {
  return z.pipe(
    z.string('must be a string').check(z.regex(pattern, 'must be a two-letter country code')),
    z.transform((code: string) => code.toUpperCase()),
  );
}

// §2.1 allows one method for each country and ID type. A second method is reported as an issue; a duplicate entry is
// dropped.
function idTypeList(fields: { country: z.ZodMiniType<string>; method: z.ZodMiniType<string> }) {
  const entry = inputObject({ country: fields.country, idType: anyString, verificationMethod: fields.method });
  return z.pipe(
    listOf(entry).check(
      z.superRefine(addSecondMethodIssues, {
        // This check also runs after other problems were found, so that all problems are reported at once.
        when: ({ value, issues }) => Array.isArray(value) && issues.length < maxIssues,
      }),
    ),
    z.transform((entries: IdType[]) => [...new Map(entries.map((idType) => [idTypeKey(idType), idType])).values()]),
  );
}

// zod's own schema would check every entry of a long list, and keep every issue.
function listOf<T>(entry: z.ZodMiniType<T>): z.ZodMiniType<T[]> {
  return z.transform((value: unknown, context) => {
    const entries: T[] = [];
    if (!Array.isArray(value)) context.issues.push({ code: 'custom', input: value, message: 'must be a list' });
    else {
      for (let index = 0; index < value.length && context.issues.length < maxIssues; index++) {
        const parsed = z.safeParse(entry, value[index]);
        if (parsed.success) entries.push(parsed.data);
        else
          for (const issue of parsed.error.issues)
            context.issues.push({ ...issue, path: [index, ...issue.path] } as never);
      }
    }
    // After an issue, the given list is returned, so that a check of the whole list finds the entries at their index.
    return context.issues.length > 0 ? (value as T[]) : entries;
  });
}

function addSecondMethodIssues(entries: readonly unknown[], check: z.core.$RefinementCtx<readonly unknown[]>): void {
  const methods = new Map<string, unknown>();
  for (const [index, idType] of entries.entries()) {
    if (check.issues.length >= maxIssues) return;
    if (!isRecord(idType)) continue;
    const kind = idTypeKey(idType);
    if (!methods.has(kind)) methods.set(kind, idType.verificationMethod);
    else if (methods.get(kind) !== idType.verificationMethod) {
      const message = 'must be the only verification method of its country and ID type';
      check.addIssue({ code: 'custom', input: entries, path: [index, 'verificationMethod'], message });
    }
  }
}

function idTypeKey({ country, idType }: { country?: unknown; idType?: unknown }): string {
  return `${String(country).toUpperCase()} ${String(idType)}`;
}

export function encodeIdType(entry: IdType) {
  return { country: entry.country, id_type: entry.idType, verification_method: entry.verificationMethod };
}
