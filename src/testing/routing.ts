/**
 * Finds the operation that a request is for (docs/protocol.md §4).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import { type OperationName, routes } from '../protocol/routes.js';

/** The operation that a request is for. If there is no such operation, the status of the error response. */
export type RouteMatch =
  | { readonly operation: OperationName; readonly linkId: string }
  | { readonly operation: null; readonly status: 404 | 405 };

const operationNames = Object.keys(routes) as readonly OperationName[];

/** Finds the operation of a method and a path. `linkId` is empty if the path has no link id. */
export function matchRoute(method: string, pathname: string, wire: Wire): RouteMatch {
  const found = operationNames.flatMap((operation) => {
    const linkId = matchPath(routes[operation].path, pathname, wire);
    return linkId === null ? [] : [{ operation, linkId }];
  });
  const match = found.find(({ operation }) => routes[operation].method === method);
  if (match !== undefined) return match;
  return { operation: null, status: found.length === 0 ? 404 : 405 };
}

/**
 * Returns the link's id in the path. Empty if the template has no link id. Null if the path does not match.
 */
function matchPath(template: string, pathname: string, { brand, listMarker }: Wire): string | null {
  const expected = template.replace('{brand}', brand).replace('{list}', listMarker).split('/');
  const segments = pathname.split('/').map(decodePart);
  if (segments.length !== expected.length) return null;
  let linkId = '';
  for (const [index, segment] of segments.entries()) {
    if (expected[index] === '{linkId}' && segment !== '') linkId = segment;
    else if (expected[index] !== segment) return null;
  }
  return linkId;
}

/** Decodes a part of a URL. Text that cannot be decoded stays as it is. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
