/**
 * OpenSSL keeps an error that nothing has asked for, such as one of a certificate, and Node's next import of a key then
 * fails with it. So a key is imported before each test, for tests that share a process.
 */

import { createPrivateKey } from 'node:crypto';
import { beforeEach } from 'vitest';

const key = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 1)]);

beforeEach(() => {
  try {
    createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  } catch {
    // The error of an earlier test, which is gone now.
  }
});
