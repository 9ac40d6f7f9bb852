/**
 * Runs each operation after its request was authenticated (docs/protocol.md §3, §4).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Spell } from './dialect.js';
import { writeJobStatus } from './job-records.js';
import { createLinkRules, readDraft, updateLinkRules } from './link-fields.js';
import { writeCreatedLink, writeLink, writeUpdatedLink } from './link-records.js';
import { type Body, findProblem, jobStatusRules, listLinksRules, type PropertyRule } from './request-rules.js';
import { createError, type ResponseData, serviceCode } from './responses.js';
import type { Store, StoredLink } from './store.js';

/** The state that handlers read and change. */
export interface RequestContext {
  readonly store: Store;
  readonly spell: Spell;
  readonly wire: Wire;
  readonly partnerId: string;
  readonly pageSize: number;
  readonly firstPage: number;
  now(): number;
}

/** A request that the partner signed. */
export interface AuthenticatedRequest {
  readonly body: Body;
  /** The link's id in the path; empty if the operation's path has no link id. */
  readonly linkId: string;
}

interface Handler {
  rules(context: RequestContext): readonly PropertyRule[];
  handle(request: AuthenticatedRequest, context: RequestContext): ResponseData;
}

const handlers: Readonly<Record<OperationName, Handler>> = {
  'links.create': { rules: () => createLinkRules, handle: createLink },
  'links.update': { rules: () => updateLinkRules, handle: updateLink },
  'links.get': { rules: () => [], handle: getLink },
  'links.list': { rules: ({ firstPage }) => listLinksRules(firstPage), handle: listLinks },
  'jobs.status': { rules: ({ wire }) => jobStatusRules(wire.jobFlags), handle: jobStatus },
};

/** Runs an operation, unless a property of the request is missing or malformed. */
export function runOperation(
  operation: OperationName,
  request: AuthenticatedRequest,
  context: RequestContext,
): ResponseData {
  const handler = handlers[operation];
  const problem = findProblem(request.body, handler.rules(context));
  return problem === null ? handler.handle(request, context) : createError(problem, serviceCode(operation, '13'));
}

function createLink({ body }: AuthenticatedRequest, { store }: RequestContext): ResponseData {
  return createSuccess(writeCreatedLink(store.addLink(readDraft(body))));
}

function updateLink({ body, linkId }: AuthenticatedRequest, { store, spell, now }: RequestContext): ResponseData {
  const link = store.findLink(linkId);
  if (link === undefined) return createUnknownLinkError();
  const changed = store.changeLink(link, {
    // §3 shows no way to enable a link. So `false` has no effect, and a second `true` does not change the time.
    ...(body.is_disabled === true && link.disabledAt === null && { disabledAt: now() }),
    ...(body.id_types !== undefined && { idTypes: readDraft(body).idTypes }),
  });
  return createSuccess(writeUpdatedLink(changed, spell));
}

function getLink({ linkId }: AuthenticatedRequest, context: RequestContext): ResponseData {
  const link = context.store.findLink(linkId);
  return link === undefined ? createUnknownLinkError() : createSuccess(recordOf(link, context));
}

function listLinks({ body }: AuthenticatedRequest, context: RequestContext): ResponseData {
  const { store, pageSize, firstPage } = context;
  const currentPage = typeof body.page === 'number' ? body.page : firstPage;
  const links = store.sliceLinks((currentPage - firstPage) * pageSize, pageSize);
  const totalCount = store.countLinks();
  return createSuccess({
    links: links.map((link) => recordOf(link, context)),
    meta: { currentPage, limit: pageSize, totalCount, totalPages: Math.ceil(totalCount / pageSize) },
  });
}

function jobStatus({ body }: AuthenticatedRequest, { store, spell, wire, now }: RequestContext): ResponseData {
  const job = store.findJob({ userId: String(body.user_id), jobId: String(body.job_id) });
  if (job === undefined) return createError('Job not found', '2304');
  const parts = { imageLinks: isSet(body.image_links), history: isSet(body.history) };
  return createSuccess(writeJobStatus(job, parts, now(), { brand: wire.brand, spell }));
}

function createSuccess(body: object): ResponseData {
  return { status: 200, body };
}

function createUnknownLinkError(): ResponseData {
  return createError('Link not found', '2215', 404);
}

function recordOf(link: StoredLink, { store, spell, partnerId }: RequestContext): object {
  return writeLink(link, store.jobsOf(link.refId), partnerId, spell);
}

function isSet(flag: unknown): boolean {
  return flag === true || flag === 'true';
}
