/**
 * The names of ID types, for people.
 *
 * @module
 */

import type { WireIdType } from '../../testing/link-fields.js';

let countries: Intl.DisplayNames | null = null;

/**
 * The value of an ID type in a form. The value does not contain the verification method, because each ID type of a
 * country has only one method (§2.1).
 */
export function idTypeValue({ country, id_type: name }: WireIdType): string {
  return `${country}:${name}`;
}

/** Gives `Nigeria` for `NG`. An unknown code is returned unchanged. */
export function countryName(code: string): string {
  if (!/^(?:[A-Za-z]{2}|\d{3})$/.test(code)) return code;
  countries ??= new Intl.DisplayNames(['en'], { type: 'region', fallback: 'code' });
  return countries.of(code) ?? code;
}

/** Gives `Drivers license` for `DRIVERS_LICENSE`. The empty string means "others". */
export function idTypeName({ id_type: name }: WireIdType): string {
  if (name === '') return 'Another document';
  const words = name.replaceAll('_', ' ').toLowerCase();
  // Short names are abbreviations, such as BVN, and stay in capitals.
  return name.length <= 4 ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

/** Gives `photo of the document` for `doc_verification`. An unknown method is returned unchanged. */
export function methodName({ verification_method: method }: WireIdType): string {
  const names: Readonly<Record<string, string>> = {
    biometric_kyc: 'selfie and ID number',
    doc_verification: 'photo of the document',
    enhanced_document_verification: 'photo of the document, and its data compared with the data of the authority',
    enhanced_kyc: 'ID number',
  };
  return names[method] ?? method;
}
