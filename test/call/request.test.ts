/** What a request is made of is checked first: what is wrong with it is named, and nothing is sent. */

import { HostedConfigError, HostedValidationError, type Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, newLink, operations, rejection } from '../support/fake-fetch.js';

const wrong = [undefined, null, '', 5, true, {}, ['signature'], new Uint8Array(32)];
const fail = () => {
  throw new Error('the key service is away');
};

const signers: readonly [string, Signer['sign']][] = [
  ...wrong.map((signature): [string, Signer['sign']] => [
    `gives ${JSON.stringify(signature)}`,
    () => signature as never,
  ]),
  ...wrong.map((signature): [string, Signer['sign']] => [
    `gives a promise of ${JSON.stringify(signature)}`,
    async () => signature as never,
  ]),
  ['throws', fail],
  ['rejects', async () => fail()],
];

test.each(signers.flatMap(([what, sign]) => operations.map((operation) => ({ ...operation, what, sign }))))(
  '$name names a signer that $what as what is wrong, and sends nothing',
  async ({ name, call, sign }) => {
    const { client, sent } = clientOf({}, { signer: { name: 'mine', sign, verify: () => true } });

    const error = await rejection(call(client), HostedConfigError);

    expect(error).toMatchObject({
      operation: name,
      outcome: 'not_sent',
      attempts: 1,
      retryable: false,
      mayHaveActed: false,
      issues: [{ path: 'signer', message: 'must return a non-empty string from sign(), but did not' }],
    });
    expect(sent).toEqual([]);
  },
);

test('the id of a link may not be the marker of the list, and no other input is looked at for it', async () => {
  const { client, sent } = clientOf({});
  const link = {
    ...newLink,
  };

  const errors = [
    await rejection(client.links.get('list')),
    await rejection(client.links.update('list', { isDisabled: true })),
    await rejection(client.links.create({ ...link, refId: 'list' } as never)),
  ];

  const marker = { path: 'refId', message: 'must not be the value of the option "wire.listMarker"' };
  for (const error of errors) expect(error).toBeInstanceOf(HostedValidationError);
  expect(errors).toMatchObject([
    { issues: [marker] },
    { issues: [marker] },
    { issues: [{ path: 'refId', message: 'is not a known property' }] },
  ]);
  expect(sent).toEqual([]);
});
