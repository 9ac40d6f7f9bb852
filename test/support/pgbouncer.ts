// A PgBouncer of our own in front of a PostgreSQL, where one is installed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import pg from 'pg';
import { pgbouncerProgram } from './needed.ts';
import { freePort } from './terminal.ts';

/** Starts PgBouncer in transaction mode, with five connections to the server for each database. */
export async function startPgBouncer(
  server: string,
): Promise<{ readonly connectionString: string; close(): Promise<void> }> {
  if (pgbouncerProgram === null) throw new Error('no PgBouncer is installed');
  const { port, username, pathname } = new URL(server);
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const own = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${port} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
`,
  );
  chmodSync(folder, 0o755);
  // PgBouncer refuses to run as root.
  const [program, args] =
    process.getuid?.() === 0
      ? ['runuser', ['-u', 'postgres', '--', pgbouncerProgram, file]]
      : [pgbouncerProgram, [file]];
  const child = spawn(program, args, { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const connectionString = `postgresql://${username}@127.0.0.1:${own}${pathname}`;
  const close = async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      await client.end();
      return { connectionString, close };
    } catch (error) {
      if (tries === 500 || child.exitCode !== null) {
        await close();
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
