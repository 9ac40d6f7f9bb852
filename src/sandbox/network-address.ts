/**
 * Finds the addresses at which other machines reach this machine.
 *
 * @module
 */

import { networkInterfaces } from 'node:os';

/** Finds the first IPv4 address that other machines can use; null if this machine has none. */
export function findNetworkAddress(): string | null {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null;
}

/** Whether a server with this address listens on all addresses of the machine. */
export function isAnyAddress(host: string): boolean {
  const name = toHostName(host);
  return name === '0.0.0.0' || name === '[::]';
}

/** An address in the form in which browsers write it in a URL: IPv6 is short, and in brackets. */
export function toHostName(host: string): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return URL.parse(`http://${name}`)?.hostname ?? name.toLowerCase();
}
