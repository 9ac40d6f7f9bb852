/**
 * Finds out whether an IP address is a loopback address, which always belongs to this machine.
 *
 * @module
 */

import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a server that listens on this host can be used only on this machine. */
export function isLoopbackHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (isIP(address) !== 0 && isLoopback(address));
}

/** Whether an IP address is a loopback address. */
export function isLoopback(address: string): boolean {
  return loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
