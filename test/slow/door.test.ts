// Connections that send a part of a large body and stall: what they cost a process that receives callbacks on real sockets,
// and that a genuine callback is accepted meanwhile.

import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';
import { apiKey, partnerId, sign } from '../support/fake-fetch.js';

const mebibyte = 1024 * 1024;
const connections = 60;

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage();
});

afterAll(() => built.remove());

/**
 * Receives callbacks. For each line that it gets, it writes its resident memory, the most that it ever was, both in KiB,
 * and how many bytes it has read.
 */
const program = `
  import { createHmac } from 'node:crypto';
  import { readFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  import { HostedClient } from 'hosted-client';
  import { nodeHandler } from 'hosted-client/node';
  const { partnerId, apiKey, maxBytes } = JSON.parse(process.env.GIVEN);
  const fetch = async (_url, { body }) => {
    const { user_id, job_id } = JSON.parse(body);
    const timestamp = new Date(Date.now() + 1_000).toISOString();
    const signature = createHmac('sha256', apiKey).update(timestamp + partnerId + 'sid_request').digest('base64');
    return Response.json({ job_complete: true, job_success: true, user_id, job_id, timestamp, signature });
  };
  const baseUrls = { sandbox: 'https://sandbox.hosted.test' };
  const ignore = () => undefined;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const client = new HostedClient({ partnerId, apiKey, baseUrls, fetch, logger });
  const handle = client.callbacks.handler({ onEvent: () => undefined, maxBytes, bodyTimeoutMs: 600_000 });
  const handleNode = nodeHandler(handle);
  const stalled = [];
  const server = createServer((request, response) => {
    if (request.headers['x-stalls']) stalled.push(request.socket);
    return handleNode(request, response);
  }).listen(0, '127.0.0.1', () => console.log(server.address().port));
  process.stdin.on('data', () => {
    const status = readFileSync('/proc/self/status', 'utf8');
    const memory = ['VmRSS', 'VmHWM'].map((name) => new RegExp(name + ':\\\\s+(\\\\d+)').exec(status)[1]);
    const done = stalled.filter(({ destroyed, bytesRead }) => destroyed || bytesRead >= maxBytes);
    console.log([...memory, done.length].join());
  });`;

async function startServer(maxBytes: number) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: built.folder,
    env: { ...process.env, GIVEN: JSON.stringify({ partnerId, apiKey, maxBytes }) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  async function readMemory() {
    child.stdin.write('\n');
    const [nowKiB = 0, mostKiB = 0, stalled = 0] = String((await lines.next()).value)
      .split(',')
      .map(Number);
    return { now: nowKiB / 1024, most: mostKiB / 1024, stalled };
  }
  return {
    port,
    readMemory,
    /** Resolves when the server has read what the connections send. */
    async hasRead(): Promise<void> {
      while ((await readMemory()).stalled < connections) await new Promise((resolve) => void setTimeout(resolve, 10));
    },
  };
}

let jobs = 0;

/** Posts a genuine callback of 1.5 MB. */
async function postGenuine(port: number): Promise<number> {
  const timestamp = new Date().toISOString();
  const PartnerParams = { user_id: 'user-1', job_id: `job-${jobs++}` };
  const body = JSON.stringify({
    ResultCode: '0810',
    PartnerParams,
    timestamp,
    signature: sign(timestamp),
    Photo: 'A'.repeat(1_500_000),
  });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
  await response.text();
  return response.status;
}

/** Opens a connection, and sends a body except for its last byte. */
async function stall(port: number, bytes: number, hasLength: boolean): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.resume();
  const length = hasLength ? `content-length: ${bytes}` : 'transfer-encoding: chunked';
  socket.write(`POST / HTTP/1.1\r\nhost: partner.test\r\nx-stalls: 1\r\n${length}\r\n\r\n`);
  if (!hasLength) socket.write(`${bytes.toString(16)}\r\n`);
  await new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    socket.write(Buffer.alloc(bytes - 1, 'A'), () => resolve());
  });
  return socket;
}

for (const mebibytes of [2, 8]) {
  for (const hasLength of [true, false]) {
    const how = hasLength ? 'with content-length' : 'without content-length';
    test(`60 connections that stall with bodies of ${mebibytes} MiB, ${how}, cost at most 100 MiB`, async () => {
      const { port, readMemory, hasRead } = await startServer(mebibytes * mebibyte);
      // A process that has handled callbacks has the memory that its garbage takes.
      for (let count = 0; count < 5; count++) {
        const statuses = await Promise.all(Array.from({ length: 8 }, () => postGenuine(port)));
        expect(new Set(statuses)).toEqual(new Set([200]));
      }
      const before = await readMemory();

      await Promise.all(Array.from({ length: connections }, () => stall(port, mebibytes * mebibyte, hasLength)));
      await hasRead();
      const status = await postGenuine(port);
      const after = await readMemory();

      expect(status).toBe(200);
      expect(after.most - before.now).toBeLessThan(100);
    });
  }
}
