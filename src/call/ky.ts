/**
 * ky, which sends. As it loads it makes the platform load its fetch, which takes longer than all else
 * here: not before a request is sent, or a clock for tests has to know that one can be.
 *
 * @module
 */

import { once } from '../runtime/lazy.js';

/** Loads ky, once. */
export const loadKy = once(async () => (await import('ky')).default);

/** ky itself. */
export type Ky = Awaited<ReturnType<typeof loadKy>>;
