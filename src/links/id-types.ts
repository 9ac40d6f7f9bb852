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
import { list } from '../validation/structure.js';
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
    list(entry).check(
      z.superRefine(addSecondMethodIssues, {
        // This check also runs after other problems were found, so that all problems are reported at once.
        when: ({ value, issues }) => Array.isArray(value) && issues.length < maxIssues,
      }),
    ),
    z.transform((entries: IdType[]) => [...new Map(entries.map((idType) => [idTypeKey(idType), idType])).values()]),
  );
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
