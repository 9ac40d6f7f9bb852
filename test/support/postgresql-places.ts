// Where PostgreSQL really lives: roles and pools that the table in docs/tracking.md names.

import { readFileSync } from 'node:fs';
import type { SqlPool } from 'hosted-client/tracking';

interface Owner {
  readonly pool: SqlPool;
  readonly connectionString: string;
}

/** Creates a role with settings of its own, which may create schemas unless it must not; gives its connection string. */
export async function createRole(
  { pool, connectionString }: Owner,
  role: string,
  { settings = [], mayCreate = true }: { readonly settings?: readonly string[]; readonly mayCreate?: boolean } = {},
): Promise<string> {
  await pool.query(`create role ${role} login`);
  const { pathname } = new URL(connectionString);
  if (mayCreate) await pool.query(`grant create on database ${pathname.slice(1)} to ${role}`);
  for (const setting of settings) await pool.query(`alter role ${role} set ${setting}`);
  return connectionString.replace('tracker@', `${role}@`);
}

/** Gives a role the rights in docs/tracking.md. */
export async function grantRights(
  pool: SqlPool,
  role: string,
  { schema = 'hosted_tracking', page }: { readonly schema?: string; readonly page: string | URL },
): Promise<void> {
  const [, grants = ''] = /```sql\n(grant usage .*?)```/s.exec(readFileSync(page, 'utf8')) ?? [];
  if (grants === '') throw new Error('docs/tracking.md names no rights');
  await pool.query(grants.replaceAll('hosted_tracking', schema).replaceAll(' to app', ` to ${role}`));
}

/** A pool that allows no prepared statements with names. All else of it and of its connections is as it was. */
export function refuseNames(pool: SqlPool): SqlPool {
  const connect = async () => refusing(await pool.connect());
  return refusing(pool, { connect });
}

function refusing<T extends Pick<SqlPool, 'query'>>(target: T, others: Partial<T> = {}): T {
  const query: SqlPool['query'] = async (text, values) => {
    if (typeof text !== 'string') throw new Error('a statement has a name');
    return target.query(text, values);
  };
  const changed: object = { query, ...others };
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(Object.hasOwn(changed, name) ? changed : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
