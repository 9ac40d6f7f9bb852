import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The collector, which a process started without it can be lent. */
export function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof collect === 'function' ? () => void collect() : () => undefined;
}
