/**
 * The routes of the pages for end users. A script that accepts JSON gets JSON from them.
 *
 * @module
 */

import type { Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import { isHttpUrl } from '../protocol/http-url.js';
import type { WireIdType } from '../testing/link-fields.js';
import type { RunningService } from '../testing/running-service.js';
import type { StoredLink } from '../testing/store.js';
import { isOutcome } from './outcomes.js';
import { idTypeValue } from './pages/id-types.js';
import { renderPage } from './pages/layout.js';
import {
  ClosedPage,
  closedTexts,
  emptyForm,
  type FormState,
  JobPage,
  LinkPage,
  ProblemPage,
} from './pages/link-page.js';
import type { FoundLink, Simulation } from './simulation.js';
import { stateOf } from './stream.js';

/** Responds with a page, or with facts to a script that accepts or sends JSON. */
export function respondAs(
  c: Context,
  content: Child,
  facts: Readonly<Record<string, unknown>>,
  status: 200 | 400 | 404 | 410 | 415 = 200,
): Response | Promise<Response> {
  const [accepted = '', sent = ''] = [c.req.header('accept'), c.req.header('content-type')];
  const isScript = !accepted.includes('text/html') && `${accepted} ${sent}`.includes('application/json');
  return isScript ? c.json(facts, status) : c.html(renderPage(content), status);
}

/**
 * Finds the origin of a link's logo, for the policy of the link's page. Null if the link has no logo, or a logo whose
 * host could be read as anything else than one host, such as `*`.
 */
function logoOriginOf({ logoUrl }: StoredLink): string | null {
  const url = isHttpUrl(logoUrl) ? new URL(logoUrl) : null;
  return url !== null && /^[a-z0-9.-]+$/.test(url.hostname) ? url.origin : null;
}

/** Finds the origin of the logo that a request's page shows; null if the page shows no logo. */
export function findLogoOrigin({ req }: Context, simulation: Simulation): string | null {
  const [, refId] = /^\/links\/([^/]+)$/.exec(req.path) ?? [];
  const found = refId === undefined ? null : simulation.findLink(refId);
  return found === null || found.closed !== null ? null : logoOriginOf(found.link);
}

/** Says how a script plays an outcome on a link. */
function playAdvice({ environment, link: { refId } }: FoundLink): string {
  return `POST /control/play ${JSON.stringify({ refId, environment, outcome: 'approved' })}`;
}

export function addLinkPages(app: Hono, { simulation, running }: { simulation: Simulation; running: RunningService }) {
  const respondOpen = (c: Context, found: FoundLink, form: FormState) => {
    const { environment, link } = found;
    const content = <LinkPage link={link} form={form} isLogoShown={logoOriginOf(link) !== null} />;
    const play = playAdvice(found);
    if (form.problems.length === 0) return respondAs(c, content, { refId: link.refId, environment, play });
    return respondAs(c, content, { error: 'The form has wrong values', issues: form.problems, play }, 400);
  };
  const respondClosed = (c: Context, link: StoredLink | null, closed: keyof typeof closedTexts) => {
    const { title, developer } = closedTexts[closed];
    const status = closed === 'unknown' ? 404 : 410;
    return respondAs(c, <ClosedPage link={link} closed={closed} />, { error: `${title}. ${developer}` }, status);
  };

  app.get('/links/:refId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return respondClosed(c, null, 'unknown');
    return found.closed === null ? respondOpen(c, found, emptyForm) : respondClosed(c, found.link, found.closed);
  });

  app.post('/links/:refId', async (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return respondClosed(c, null, 'unknown');
    const { environment, link, closed } = found;
    if (closed !== null) return respondClosed(c, link, closed);
    if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')) {
      const message = `Send the form as application/x-www-form-urlencoded, or play the outcome as JSON: ${playAdvice(found)}`;
      return respondAs(c, <ProblemPage title="This form was rejected" message={message} />, { error: message }, 415);
    }
    const { form, idType } = readForm(new URLSearchParams(await c.req.text()), found);
    const { outcome } = form;
    if (!isOutcome(outcome) || form.problems.length > 0) return respondOpen(c, found, form);
    const job = simulation.play(link.refId, outcome, { environment, isOnPage: true, ...(idType && { idType }) });
    return c.redirect(`/links/${link.refId}/jobs/${encodeURIComponent(job.jobId)}`, 303);
  });

  app.get('/links/:refId/jobs/:jobId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    const jobs = found ? running.environments[found.environment].context().store.jobsOf(found.link.refId) : [];
    const job = jobs.find(({ jobId }) => jobId === c.req.param('jobId'));
    if (!found || !job) return respondClosed(c, null, 'unknown');
    const { userId, jobId } = job;
    return respondAs(c, <JobPage link={found.link} job={job} />, { userId, jobId, state: stateOf(job).title });
  });
}

/**
 * Reads the form of a link's page. Consent and outcome are required. If the form has no ID type, the job gets the
 * link's first ID type.
 */
function readForm(fields: URLSearchParams, { link }: FoundLink): { form: FormState; idType: WireIdType | null } {
  const [id, outcome] = [fields.get('id'), fields.get('outcome')];
  const hasConsent = fields.get('consent') === 'yes';
  const idType = link.idTypes.find((entry) => idTypeValue(entry) === id) ?? null;
  const problems: FormState['problems'][number][] = [];
  if (id !== null && idType === null && link.idTypes.length > 0) {
    const known = link.idTypes.slice(0, 20).map(idTypeValue).join(', ');
    problems.push({ path: 'id', message: `Choose one of the IDs that the link accepts: ${known}` });
  }
  if (!hasConsent) problems.push({ path: 'consent', message: 'Tick the box to give your consent' });
  if (!isOutcome(outcome)) problems.push({ path: 'outcome', message: 'Choose one of the outcomes' });
  return { form: { idType: id, outcome, hasConsent, problems }, idType };
}
