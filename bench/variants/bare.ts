/** Bare fetch and `JSON.parse`. The figures of all other variants are multiples of this variant. */

import type { Target } from '../service/target.ts';

const headers = { 'content-type': 'application/json' };

/** Posts JSON without any package. */
export function createPost({ baseUrl, fetch }: Target): (path: string, body: object) => Promise<unknown> {
  return async (path, body) => {
    const response = await fetch(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return JSON.parse(await response.text()) as unknown;
  };
}
