/**
 * The `links` namespace of a client that reads its options at its first call.
 *
 * @module
 */

import { beginOrReject } from '../call/api-promise.js';
import { createLinkList } from './link-list.js';
import type { Links } from './links.js';
import { createFirstPage } from './paging.js';

/**
 * Creates a namespace. Each call of its methods gets the real namespace from `start`. If `start` throws, the call
 * rejects with the error.
 */
export function createLazyLinks(start: () => Links): Links {
  return {
    create: (...given) => beginOrReject(() => start().create(...given)),
    update: (...given) => beginOrReject(() => start().update(...given)),
    disable: (...given) => beginOrReject(() => start().disable(...given)),
    get: (...given) => beginOrReject(() => start().get(...given)),
    list(options) {
      try {
        return start().list(options);
      } catch (error) {
        const fetch = () => Promise.reject(error);
        return createLinkList({ options: undefined, firstPage: createFirstPage('auto'), fetch });
      }
    },
    // `await` keeps the caller in the stack of an error about an invalid query. Without `await`, V8 would connect the
    // two promises one turn later, when the error has already been thrown.
    find: async (...given) => await start().find(...given),
  };
}
