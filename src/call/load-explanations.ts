/**
 * What is known of errors that are rare, and their words: loaded with the first of them. Where it cannot be loaded, an
 * error does without, and its request counts as one that may have been received.
 *
 * @module
 */

import { lazyModule } from '../runtime/lazy.js';

/** Loads the explanations. */
export const loadExplanations = lazyModule('explanations', () => import('./explanations.js'));
