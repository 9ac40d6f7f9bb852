/**
 * Loads the explanations of errors with the first error that needs them. If they cannot be loaded, the error has none,
 * and its request counts as one that may have been received.
 *
 * @module
 */

import { lazyModule } from '../runtime/lazy.js';

/** Loads the explanations. */
export const loadExplanations = lazyModule('explanations', () => import('./explanations.js'));
