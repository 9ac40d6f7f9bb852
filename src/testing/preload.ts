/**
 * Provides the parts of the client that are otherwise loaded at first use. Loading takes real time. A test with fake
 * timers could advance its clock before the loading has ended. The mock service itself does not use these parts.
 *
 * @module
 */

import ky from 'ky';
import { explainFailure, explainRejection } from '../call/explanations.js';
import { createReceiver } from '../callbacks/receiver.js';
import { waitForEach, watchJob } from '../jobs/waiting.js';
import { provideModule } from '../runtime/lazy.js';
import { createSigningKey, createVerifier } from '../signing/ed25519-keys.js';

/** Provides every part that the client loads at first use. */
export function preload(): void {
  provideModule('ky', ky);
  provideModule('explanations', { explainFailure, explainRejection });
  provideModule('receiver', { createReceiver });
  provideModule('waiting', { waitForEach, watchJob });
  provideModule('ed25519-keys', { createSigningKey, createVerifier });
}
