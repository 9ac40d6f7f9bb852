// Searches in services drawn at random. The oracle knows which links were there all the time, and when they were created.

import { HostedResponseError, type Link } from 'hosted-client';
import { expect, test } from 'vitest';
import { search } from '../links/direct-search.js';
import { drawService } from '../links/drawn-service.js';

const draws = Number(process.env.DRAWS ?? 20_000);

test(`links.find() gives no wrong null and no older link in ${draws} drawn services`, {
  timeout: 600_000,
}, async () => {
  const problems: object[] = [];
  for (let seed = 1; seed <= draws; seed++) {
    const service = drawService(seed);
    const { found, asked } = await search(service.pager, service);

    const problem = findProblem(service, found, asked.length);
    if (problem !== null) problems.push({ seed, problem, ...service.description });
  }
  expect(problems).toEqual([]);
});

function findProblem(service: ReturnType<typeof drawService>, found: Link | null | Error, requests: number) {
  const newest = service.listWanted().at(-1);
  if (requests > service.maxPages) return 'too many requests';
  if (found instanceof HostedResponseError) {
    const isWrong = service.isConsistent() && found.issues[0]?.path === 'meta.totalCount';
    return service.mustSucceed || isWrong ? found.message : null;
  }
  if (found instanceof Error) return found.message;
  if (service.isHidden()) return null;
  if (found === null) return newest ? 'wrong null' : null;
  const link = service.linkOf(found.refId);
  if (!link?.isWanted || link.created <= (service.query.createdAfter?.getTime() ?? 0) - 1_000) return 'another link';
  return newest && link.created < newest.created ? 'older link' : null;
}
