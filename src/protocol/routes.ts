/**
 * The operations of the service as plain data (docs/protocol.md §4): where each is found, and how errors
 * name it. The client's rows and the mock's routing read this one table.
 *
 * @module
 */

/** The name of an operation, as events and errors give it. */
export type OperationName = 'links.create' | 'links.update' | 'links.get' | 'links.list' | 'jobs.status';

/** Where one operation is found. */
export interface Route {
  readonly method: 'POST' | 'PUT';
  /** `{brand}` and `{list}` stand for what `WireOptions` says, `{linkId}` for the link's reference id. */
  readonly path: string;
  /** Whose base URL, and whose spelling of timestamp and signature: links', or job status's. */
  readonly host: 'links' | 'jobs';
  /** What it does, as errors say it: `Cannot get a link: …`. */
  readonly title: string;
  /** What errors say where the service may have acted on a request that failed; null where that changes nothing. */
  readonly afterFailure: string | null;
}

/** Every operation. */
export const routes: Readonly<Record<OperationName, Route>> = {
  /** §4.1 */
  'links.create': {
    method: 'POST',
    path: '/v1/{brand}_links',
    host: 'links',
    title: 'create a link',
    afterFailure:
      'the link may exist all the same: look for it with links.list(), by its name or user id, before creating it again',
  },
  /** §4.2 */
  'links.update': {
    method: 'PUT',
    path: '/v1/{brand}_links/{linkId}',
    host: 'links',
    title: 'change a link',
    afterFailure: null,
  },
  /** §4.4; before §4.3, whose path takes any id: the marker of the list is none. */
  'links.list': {
    method: 'POST',
    path: '/v1/{brand}_links/{list}',
    host: 'links',
    title: 'list links',
    afterFailure: null,
  },
  /** §4.3 */
  'links.get': {
    method: 'POST',
    path: '/v1/{brand}_links/{linkId}',
    host: 'links',
    title: 'get a link',
    afterFailure: null,
  },
  /** §4.5 */
  'jobs.status': {
    method: 'POST',
    path: '/v1/job_status',
    host: 'jobs',
    title: 'get the status of a job',
    afterFailure: null,
  },
};
