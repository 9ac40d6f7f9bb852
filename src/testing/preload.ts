/**
 * Provides the parts of the client that are otherwise loaded at first use. Loading takes real time. A test with fake
 * timers could advance its clock before the loading has ended. The mock service itself does not use these parts.
 *
 * @module
 */

import ky from 'ky';
import { loadKy } from '../call/transport.js';

/** Provides every part that the client loads at first use. */
export function preload(): void {
  loadKy.value = ky;
}
