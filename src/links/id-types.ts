/**
 * The schemas of the ID types that callers pass. They give the form on the wire (docs/protocol.md §2.1).
 *
 * @module
 */

import * as z from 'zod/mini';
import { maxIssues } from '../errors/hosted-error.js';
import { inputObject } from '../validation/check.js';
import { anyString, choice, stringOf } from '../validation/input.js';
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
  const code = stringOf(pattern, 'must be a two-letter country code');
  return z.pipe(
    code,
    z.transform((given: string) => given.toUpperCase()),
  );
}

// §2.1 allows one method for each country and ID type. A second method is reported as an issue; a duplicate entry is
// dropped. zod's own schema of a list would check every entry of a long list, and keep every issue.
function idTypeList(fields: { country: z.ZodMiniType<string>; method: z.ZodMiniType<string> }) {
  const entry = inputObject({ country: fields.country, idType: anyString, verificationMethod: fields.method });
  return z.transform((list: unknown, context) => {
    const entries = new Map<string, IdType>();
    const addIssue = (message: string, path: PropertyKey[] = []) =>
      context.issues.push({ code: 'custom', input: list, path, message });
    if (!Array.isArray(list)) addIssue('must be a list');
    else {
      for (let index = 0; index < list.length && context.issues.length < maxIssues; index++) {
        const { data, error } = z.safeParse(entry, list[index]);
        for (const issue of error?.issues ?? [])
          context.issues.push({ ...issue, path: [index, ...issue.path] } as never);
        if (!data) continue;
        const kind = `${data.country} ${data.idType}`;
        const { verificationMethod } = entries.get(kind) ?? data;
        if (verificationMethod !== data.verificationMethod) addIssue(mustBeOnly, [index, 'verificationMethod']);
        entries.set(kind, { ...data, verificationMethod });
      }
    }
    return [...entries.values()].map(encodeIdType);
  });
}

const mustBeOnly = 'must be the only verification method of its country and ID type';

function encodeIdType({ country, idType, verificationMethod }: IdType) {
  return { country, id_type: idType, verification_method: verificationMethod };
}
