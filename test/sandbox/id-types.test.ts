/** The names of ID types on the pages of a sandbox. */

import { expect, test } from 'vitest';
import { countryName, idTypeName, methodName } from '../../src/sandbox/pages/id-types.js';

const withName = (name: string) => ({ country: 'NG', id_type: name, verification_method: 'biometric_kyc' });
const withMethod = (method: string) => ({ country: 'NG', id_type: 'BVN', verification_method: method });

test.each([
  ['NG', 'Nigeria'],
  ['QX', 'QX'],
  ['no country', 'no country'],
  ['', ''],
])('the country %j is named %j', (code, name) => {
  expect(countryName(code)).toBe(name);
});

test.each([
  ['BVN', 'BVN'],
  ['DRIVERS_LICENSE', 'Drivers license'],
  ['', 'Another document'],
])('the ID type %j is named %j', (code, name) => {
  expect(idTypeName(withName(code))).toBe(name);
});

test.each([
  ['biometric_kyc', 'selfie and ID number'],
  ['a_new_method', 'a_new_method'],
])('the method %j is named %j', (code, name) => {
  expect(methodName(withMethod(code))).toBe(name);
});
