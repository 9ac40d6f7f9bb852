/**
 * Loads the explanations of errors with the first error that needs them. If they cannot be loaded, the error has no
 * explanation, and its request counts as possibly received.
 *
 * @module
 */

import { lazyModule } from '../runtime/lazy.js';

/** Loads the explanations. */
export const loadExplanations = lazyModule('explanations', () => import('./explanations.js'));
