/** A program of two halves, one that imports and one that requires: both must have the same of everything. */

const assert = require('node:assert/strict');

async function main() {
  for (const entry of [
    'hosted-client',
    'hosted-client/opentelemetry',
    'hosted-client/testing',
    'hosted-client/testing/msw',
    'hosted-client/tracking',
  ]) {
    const required = require(entry);
    const imported = await import(entry);
    for (const name of Object.keys(imported)) assert.equal(required[name], imported[name], `${entry}: ${name}`);
    assert.notEqual(Object.keys(imported).length, 0);
  }

  const { HostedClient } = require('hosted-client');
  const { HostedConfigError, HostedError } = await import('hosted-client');
  assert.throws(() => new HostedClient({}), HostedConfigError);
  assert.throws(() => new HostedClient({}), HostedError);
  console.log('the same');
}

void main();
