/**
 * What the service does and answers, operation by operation, once the partner is admitted
 * (docs/protocol.md §3, §4).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Say } from './dialect.js';
import { wireJobStatus } from './job-records.js';
import { wireCreatedLink, wireLink, wireUpdatedLink } from './link-records.js';
import {
  type Body,
  createLinkRules,
  findProblem,
  jobStatusRules,
  listLinksRules,
  type MemberRule,
  updateLinkRules,
} from './request-rules.js';
import { type Answer, refuse, serviceCode } from './responses.js';
import type { LinkDraft, Store, StoredLink, WireIdType } from './store.js';

/** What the operations work with. */
export interface Office {
  readonly store: Store;
  readonly say: Say;
  readonly wire: Wire;
  readonly partnerId: string;
  readonly pageSize: number;
  readonly firstPage: number;
  now(): number;
}

/** A request whose sender is known. */
export interface Visit {
  readonly body: Body;
  /** From the path; empty where the operation's path has none. */
  readonly linkId: string;
}

interface Handler {
  rules(office: Office): readonly MemberRule[];
  act(visit: Visit, office: Office): Answer;
}

const handlers: Readonly<Record<OperationName, Handler>> = {
  'links.create': { rules: () => createLinkRules, act: createLink },
  'links.update': { rules: () => updateLinkRules, act: updateLink },
  'links.get': { rules: () => [], act: getLink },
  'links.list': { rules: ({ firstPage }) => listLinksRules(firstPage), act: listLinks },
  'jobs.status': { rules: ({ wire }) => jobStatusRules(wire.jobFlags), act: jobStatus },
};

/** Acts on a request, unless a member is missing or malformed. */
export function serve(operation: OperationName, visit: Visit, office: Office): Answer {
  const handler = handlers[operation];
  const problem = findProblem(visit.body, handler.rules(office));
  return problem === null ? handler.act(visit, office) : refuse(problem, serviceCode(operation, '13'));
}

function createLink({ body }: Visit, { store }: Office): Answer {
  return answer(wireCreatedLink(store.addLink(draftOf(body))));
}

function updateLink({ body, linkId }: Visit, { store, say, now }: Office): Answer {
  const link = store.findLink(linkId);
  if (link === undefined) return unknownLink();
  const changed = store.changeLink(link, {
    // §3 shows no way back: false leaves a disabled link disabled, true keeps its first time.
    ...(body.is_disabled === true && link.disabledAt === null && { disabledAt: now() }),
    ...(body.id_types !== undefined && { idTypes: idTypesOf(body) }),
  });
  return answer(wireUpdatedLink(changed, say));
}

function getLink({ linkId }: Visit, office: Office): Answer {
  const link = office.store.findLink(linkId);
  return link === undefined ? unknownLink() : answer(recordOf(link, office));
}

function listLinks({ body }: Visit, office: Office): Answer {
  const { store, pageSize, firstPage } = office;
  const currentPage = typeof body.page === 'number' ? body.page : firstPage;
  const links = store.sliceLinks((currentPage - firstPage) * pageSize, pageSize);
  const totalCount = store.countLinks();
  return answer({
    links: links.map((link) => recordOf(link, office)),
    meta: { currentPage, limit: pageSize, totalCount, totalPages: Math.ceil(totalCount / pageSize) },
  });
}

function jobStatus({ body }: Visit, { store, say, wire, now }: Office): Answer {
  const job = store.findJob({ userId: String(body.user_id), jobId: String(body.job_id) });
  if (job === undefined) return refuse('Job not found', '2304');
  const wishes = { imageLinks: isSet(body.image_links), history: isSet(body.history) };
  return answer(wireJobStatus(job, wishes, now(), { brand: wire.brand, say }));
}

function answer(body: object): Answer {
  return { status: 200, body };
}

function unknownLink(): Answer {
  return refuse('Link not found', '2215', 404);
}

function recordOf(link: StoredLink, { store, say, partnerId }: Office): object {
  return wireLink(link, store.jobsOf(link.refId), partnerId, say);
}

/** Of a body that keeps the rules. */
function draftOf(body: Body): LinkDraft {
  return {
    name: textOrNull(body.name),
    idTypes: idTypesOf(body),
    isSingleUse: typeof body.is_single_use === 'boolean' ? body.is_single_use : null,
    callbackUrl: textOrNull(body.callback_url),
    companyName: String(body.company_name),
    dataPrivacyPolicyUrl: String(body.data_privacy_policy_url),
    logoUrl: textOrNull(body.logo_url),
    userId: textOrNull(body.user_id),
    expiresAt: textOrNull(body.expires_at),
  };
}

function idTypesOf({ id_types: entries }: Body): readonly WireIdType[] {
  if (!Array.isArray(entries)) return [];
  return entries.map(({ country, id_type, verification_method }) => ({ country, id_type, verification_method }));
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function isSet(flag: unknown): boolean {
  return flag === true || flag === 'true';
}
