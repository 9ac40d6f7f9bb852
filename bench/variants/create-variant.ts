/** Creates a variant by name, and loads only the modules of this variant. */

import type { Target } from '../service/target.ts';
import { postingVariant, type Variant } from './variant.ts';

/** `ours` and `before` are builds of this package, each in its own folder. */
const builds = ['ours', 'before'];

/** Loads and creates one variant. */
export async function createVariant(name: string, dist: string, target: Target): Promise<Variant> {
  if (builds.includes(name)) return (await import('./client.ts')).clientVariant(dist, target);
  if (name === 'floor') return (await import('./floor.ts')).floorVariant(target);
  if (name === 'bare') return postingVariant((await import('./bare.ts')).createPost(target));
  const { peers } = await import('../peers/peers.js');
  const peer = peers[name as keyof typeof peers];
  if (!peer) throw new Error(`There is no variant "${name}"`);
  return postingVariant(await peer(target.baseUrl, target.fetch));
}
