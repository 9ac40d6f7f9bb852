/**
 * Loads the explanations of errors when the first error needs them. If they cannot be loaded, the error has no
 * explanation. If a request then has no response, the client assumes that the service may have received the request.
 *
 * @module
 */

import { lazyModule } from '../runtime/lazy.js';

/** Loads the explanations. */
export const loadExplanations = lazyModule('explanations', () => import('./explanations.js'));
