// A Redis of our own for the tests of BullMQ, where one is installed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { redisProgram } from './needed.ts';

/** Whether the tests that need it must not be left out. */
export const isRedisRequired = process.env.RECIPES_NEED_REDIS === '1';

/** A Redis on a socket in a folder of its own: no port is taken, and nothing is kept. */
export interface Redis {
  readonly url: string;
  close(): Promise<void>;
}

export async function startRedis(): Promise<Redis> {
  if (redisProgram === null) throw new Error('no Redis is installed');
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-redis-'));
  const socket = join(folder, 'redis.sock');
  const child = spawn(redisProgram, ['--port', '0', '--unixsocket', socket, '--save', '', '--dir', folder], {
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const kill = () => child.kill();
  process.once('exit', kill);
  const close = async () => {
    child.kill();
    await exited;
    process.off('exit', kill);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await waitUntilListening(socket);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `redis+unix://${socket}`, close };
}

async function waitUntilListening(socket: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const connection = connect(socket);
    try {
      await once(connection, 'connect');
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await setTimeout(20);
    } finally {
      connection.destroy();
    }
  }
}
