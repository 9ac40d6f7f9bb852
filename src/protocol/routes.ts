/**
 * Method and path of each operation, as plain data (docs/protocol.md §4). `{brand}` and `{list}`
 * stand for what `WireOptions` says, `{linkId}` for the link's reference id.
 *
 * @module
 */

/** The name of an operation, as events and errors give it. */
export type OperationName = 'links.create' | 'links.update' | 'links.get' | 'links.list' | 'jobs.status';

/** Where one operation is found. */
export interface Route {
  readonly name: OperationName;
  readonly method: 'POST' | 'PUT';
  readonly path: string;
}

/** §4.1 */
export const createLinkRoute: Route = { name: 'links.create', method: 'POST', path: '/v1/{brand}_links' };
/** §4.2 */
export const updateLinkRoute: Route = { name: 'links.update', method: 'PUT', path: '/v1/{brand}_links/{linkId}' };
/** §4.3 */
export const getLinkRoute: Route = { name: 'links.get', method: 'POST', path: '/v1/{brand}_links/{linkId}' };
/** §4.4 */
export const listLinksRoute: Route = { name: 'links.list', method: 'POST', path: '/v1/{brand}_links/{list}' };
/** §4.5 */
export const jobStatusRoute: Route = { name: 'jobs.status', method: 'POST', path: '/v1/job_status' };
