/**
 * Certificates for a test, made as it runs: an authority of its own, and a server's for 127.0.0.1 that it
 * signed. Node cannot make them; they are written as RFC 5280 §4.1 has them, signed with ECDSA over P-256.
 */

import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate and its key, as PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
  /** The name of the subject, as DER. */
  readonly subject: Buffer;
}

/** Makes an authority that has signed itself. */
export function createAuthority(name: string): Certified {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = nameOf(name);
  // basicConstraints: it is an authority; keyUsage: it signs certificates.
  const extensions = [extension('551d13', sequence(boolean(true))), extension('551d0f', tlv(0x03, Buffer.of(2, 0x04)))];
  return issue({
    subject,
    issuer: subject,
    publicKey,
    privateKey,
    issuerKey: privateKey,
    extensions,
    until: '20991231235959Z',
  });
}

/** Makes a server's certificate, signed by an authority: for 127.0.0.1 or another address, good until 2099 or before. */
export function createServerCertificate(
  authority: Certified,
  { address = [127, 0, 0, 1], until = '20991231235959Z' }: { address?: readonly number[]; until?: string } = {},
): Certified {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // subjectAltName: the address that is connected to.
  const extensions = [extension('551d11', sequence(tlv(0x87, Buffer.from(address))))];
  const issuerKey = createPrivateKey(authority.key);
  const subject = nameOf('Service of a test');
  return issue({ subject, issuer: authority.subject, publicKey, privateKey, issuerKey, extensions, until });
}

interface Issuing {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly issuerKey: KeyObject;
  readonly extensions: readonly Buffer[];
  /** As ASN.1 writes a time. */
  readonly until: string;
}

function issue({ subject, issuer, publicKey, privateKey, issuerKey, extensions, until }: Issuing): Certified {
  const signed = sequence(
    tlv(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    issuer,
    sequence(time('20200101000000Z'), time(until)),
    subject,
    publicKey.export({ format: 'der', type: 'spki' }),
    tlv(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', signed, issuerKey);
  const der = sequence(signed, ecdsaWithSha256, tlv(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    subject,
  };
}

// DER (X.690): a tag, a length, and what it holds.
function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const long = length > 0xff ? [0x82, length >> 8, length & 0xff] : [0x81, length];
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : long)), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function integer(bytes: Buffer): Buffer {
  return tlv(0x02, bytes);
}

function boolean(value: boolean): Buffer {
  return tlv(0x01, Buffer.of(value ? 0xff : 0));
}

function time(text: string): Buffer {
  return tlv(0x18, Buffer.from(text));
}

function oid(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

function nameOf(commonName: string): Buffer {
  return sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from(commonName)))));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), boolean(true), tlv(0x04, value));
}

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
