/**
 * The operations of the service as plain data (docs/protocol.md §4): their paths, and their names in errors. The
 * client's operations and the mock's routing both read this table.
 *
 * @module
 */

/** The name of an operation in events and errors. */
export type OperationName = 'links.create' | 'links.update' | 'links.get' | 'links.list' | 'jobs.status';

/** The path of an operation, and its texts in errors. */
export interface Route {
  readonly method: 'POST' | 'PUT';
  /**
   * The path. `{brand}` and `{list}` are replaced by options of `WireOptions`, and `{linkId}` by the link's reference
   * id.
   */
  readonly path: string;
  /** The group that decides the base URL, the timestamp and the signature: links or job status. */
  readonly host: 'links' | 'jobs';
  /** What the operation does, in words: `get a link` in `Cannot get a link: …`. */
  readonly title: string;
  /** Whether the operation changes anything at the service. */
  readonly writes: boolean;
  /**
   * The text that errors add if the service may have acted on a failed request; null if the request can be safely
   * repeated.
   */
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
    writes: true,
    afterFailure: 'the link may exist: look for it with links.find(), by its name or user id, before creating it again',
  },
  /** §4.2 */
  'links.update': {
    method: 'PUT',
    path: '/v1/{brand}_links/{linkId}',
    host: 'links',
    title: 'change a link',
    writes: true,
    afterFailure: null,
  },
  /**
   * §4.4. This row comes before the row of §4.3: the path of §4.3 also matches the path of a list, and would read the
   * list marker as an id.
   */
  'links.list': {
    method: 'POST',
    path: '/v1/{brand}_links/{list}',
    host: 'links',
    title: 'list links',
    writes: false,
    afterFailure: null,
  },
  /** §4.3 */
  'links.get': {
    method: 'POST',
    path: '/v1/{brand}_links/{linkId}',
    host: 'links',
    title: 'get a link',
    writes: false,
    afterFailure: null,
  },
  /** §4.5 */
  'jobs.status': {
    method: 'POST',
    path: '/v1/job_status',
    host: 'jobs',
    title: 'get the status of a job',
    writes: false,
    afterFailure: null,
  },
};
