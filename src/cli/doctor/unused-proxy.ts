/**
 * Finds a proxy that is set in environment variables but not used. Node's fetch uses such a proxy only with
 * `--use-env-proxy` or `NODE_USE_ENV_PROXY=1`.
 *
 * @module
 */

import { isEnabledInNode, type ProcessFacts, readProcessFacts } from '../../runtime/env-proxy.js';

/**
 * Returns the name of the variable that sets a proxy for this URL, if the platform's fetch ignores that proxy.
 * Otherwise returns null.
 */
export function findUnusedProxy(url: string, facts: ProcessFacts | null = readProcessFacts()): string | null {
  if (facts?.runtime !== 'node' || isEnabledInNode(facts)) return null;
  const { protocol, hostname } = new URL(url);
  const names = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const name = names.find((variable) => facts.read(variable));
  return name === undefined || isExcepted(hostname, facts) ? null : name;
}

// Here `NO_PROXY` excepts more hosts than in any runtime: subdomains always match, and ports are ignored. To miss an
// unused proxy is better than to report one that is not needed.
function isExcepted(hostname: string, { read }: ProcessFacts): boolean {
  const entries = (read('no_proxy') ?? read('NO_PROXY') ?? '').toLowerCase().split(/[,\s]/);
  return entries.some((entry) => {
    const host = entry.replace(/^\*?\.?/, '').split(':')[0];
    return entry === '*' || (host && (hostname === host || hostname.endsWith(`.${host}`)));
  });
}
