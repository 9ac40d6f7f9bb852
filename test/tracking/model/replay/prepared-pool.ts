// A pool that prepares each statement once. In PGlite, planning a statement takes several times as long as running it.

import type { SqlPool } from 'hosted-client/tracking';

type Run = (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }>;

/** Wraps a pool whose connections share one session. */
export function prepareAll(pool: SqlPool): SqlPool {
  const names = new Map<string, string>();

  async function run(query: Run, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
    if (values.length === 0) return query(text);
    let name = names.get(text);
    if (name === undefined) {
      name = `prepared_${names.size}`;
      await query(`prepare ${name} as ${text}`);
      names.set(text, name);
    }
    return query(`execute ${name}(${values.map(toLiteral).join(', ')})`);
  }

  return {
    query: (text, values) => run((...given) => pool.query(...given), text, values),
    async connect() {
      const connection = await pool.connect();
      return {
        query: (text, values) => run((...given) => connection.query(...given), text, values),
        release: (destroy) => connection.release(destroy),
      };
    },
  };
}

function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  // PostgreSQL writes arrays of strings and numbers as JSON does, apart from the brackets.
  const written = Array.isArray(value) ? `{${text.slice(1, -1)}}` : text;
  return `'${written.replaceAll("'", "''")}'`;
}
