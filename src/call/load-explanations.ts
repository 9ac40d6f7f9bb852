/**
 * Loads the explanations of errors when the first error needs them. If they cannot be loaded, the error has no
 * explanation. A request without a response then counts as possibly received.
 *
 * @module
 */

import { lazyModule } from '../runtime/lazy.js';

/** Loads the explanations. */
export const loadExplanations = lazyModule('explanations', () => import('./explanations.js'));
