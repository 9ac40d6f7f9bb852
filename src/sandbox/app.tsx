/**
 * The routes of the pages and the controls.
 *
 * @module
 */

import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import { secureHeaders } from 'hono/secure-headers';
import { Hono } from 'hono/tiny';
import { HostedValidationError } from '../errors/errors.js';
import { type Environment, environments } from '../options.js';
import { isHttpUrl } from '../protocol/http-url.js';
import type { RunningService } from '../testing/running-service.js';
import type { StoredJob, WireIdType } from '../testing/store.js';
import { variants } from './callbacks.js';
import { checkInput, createControls, failNext, failNextInput } from './controls.js';
import type { Live } from './live.js';
import { isOutcome } from './outcomes.js';
import { ConsolePage, mostShown } from './pages/console-page.js';
import { jobRowId, type Latest, type ShownJob, type ShownLink } from './pages/console-rows.js';
import { followScript } from './pages/follow.js';
import { idTypeValue } from './pages/id-types.js';
import { renderPage } from './pages/layout.js';
import {
  ClosedPage,
  emptyForm,
  type FormState,
  JobPage,
  LinkPage,
  NotFoundPage,
  ProblemPage,
} from './pages/link-page.js';
import { LinkStoryPage } from './pages/story-page.js';
import { icon, style } from './pages/style.js';
import type { FoundLink, Simulation } from './simulation.js';
import { describeStory } from './stories.js';
import type { Sandbox } from './types.js';

export interface AppSettings {
  readonly sandbox: Sandbox;
  readonly running: RunningService;
  readonly simulation: Simulation;
  readonly live: Live;
  readonly partnerId: string;
  readonly apiKeys: Readonly<Record<Environment, string>> | null;
  /** The text of the OpenAPI description. Null if the file is not installed. */
  readonly description: string | null;
}

/** Pages load nothing from other servers, have no inline script or style, and cannot be shown in a frame. */
const security = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: ["'self'"],
    scriptSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // With `no-referrer`, browsers would send `Origin: null` with the forms of these pages, and the sandbox would reject
  // them.
  referrerPolicy: 'same-origin',
  // The sandbox has no TLS, so browsers must not switch to https.
  strictTransportSecurity: false,
});

/** Creates the site. */
export function createApp(settings: AppSettings): Hono {
  const { sandbox, live, description } = settings;
  const app = new Hono();

  app.use(security);
  app.use(async (c, next) => {
    await next();
    c.header('cache-control', 'no-store');
  });
  app.onError((error, c) => {
    if (!(error instanceof HostedValidationError)) throw error;
    if (c.req.path.startsWith('/control/')) return c.json({ error: error.message, issues: error.issues }, 400);
    return page(c, <ProblemPage title="This request was rejected" message={error.message} />, 400);
  });
  app.notFound((c) =>
    c.req.path.startsWith('/control/')
      ? c.json({ error: `No control has this method and path: ${c.req.method} ${c.req.path}` }, 404)
      : page(c, <NotFoundPage />, 404),
  );

  app.route('/', createControls(sandbox));
  // Without a body to cancel, the stream would stay open for ever.
  app.get('/events', (c) => (c.req.method === 'HEAD' ? c.body(null) : live.open()));
  app.get('/assets/style.css', (c) => c.body(style, 200, { 'content-type': 'text/css; charset=utf-8' }));
  app.get('/assets/icon.svg', (c) => c.body(icon, 200, { 'content-type': 'image/svg+xml' }));
  app.get('/assets/follow.js', (c) =>
    c.body(followScript(), 200, { 'content-type': 'text/javascript; charset=utf-8' }),
  );
  if (description !== null) {
    app.get('/openapi.yaml', (c) => c.body(description, 200, { 'content-type': 'application/yaml; charset=utf-8' }));
  }
  addLinkPages(app, settings);
  addConsole(app, settings);
  return app;
}

function page(c: Context, content: Child, status: 200 | 400 | 404 | 410 = 200): Response | Promise<Response> {
  return c.html(renderPage(content), status);
}

function addLinkPages(app: Hono, { simulation, running }: AppSettings): void {
  app.get('/links/:refId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return page(c, <NotFoundPage />, 404);
    // A foreign page can load a link as an image. This does not count as an end user who opens the link.
    const isCrossSite = c.req.header('sec-fetch-site') === 'cross-site';
    const destination = c.req.header('sec-fetch-dest') ?? (isCrossSite ? null : 'document');
    if (destination === 'document') simulation.open(found);
    if (found.closed !== null) return page(c, <ClosedPage link={found.link} closed={found.closed} />, 410);
    return page(c, <LinkPage link={found.link} form={emptyForm} />);
  });

  app.post('/links/:refId', async (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return page(c, <NotFoundPage />, 404);
    const { environment, link, closed } = found;
    if (closed !== null) return page(c, <ClosedPage link={link} closed={closed} />, 410);
    const fields = new URLSearchParams(await c.req.text());
    const { form, idType } = readForm(fields, found);
    const { outcome } = form;
    if (!isOutcome(outcome) || form.problems.length > 0) return page(c, <LinkPage link={link} form={form} />, 400);
    const job = simulation.play(link.refId, outcome, { environment, ...(idType && { idType }) });
    return c.redirect(`/links/${link.refId}/jobs/${encodeURIComponent(job.jobId)}`, 303);
  });

  app.get('/links/:refId/jobs/:jobId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    const job = found && jobsOf(running, found).find(({ jobId }) => jobId === c.req.param('jobId'));
    if (!found || !job) return page(c, <NotFoundPage />, 404);
    return page(c, <JobPage link={found.link} job={job} />);
  });
}

/**
 * Reads the form of a link's page. Consent and outcome are required. If the form has no ID type, the job gets the
 * link's first ID type.
 */
function readForm(fields: URLSearchParams, { link }: FoundLink): { form: FormState; idType: WireIdType | null } {
  const [id, outcome, consent] = [fields.get('id'), fields.get('outcome'), fields.get('consent')];
  const idType = link.idTypes.find((entry) => idTypeValue(entry) === id) ?? null;
  const problems: FormState['problems'][number][] = [];
  if (id !== null && idType === null && link.idTypes.length > 0) {
    const known = link.idTypes.slice(0, 20).map(idTypeValue).join(', ');
    problems.push({ field: 'id', message: `Choose one of the IDs that the link accepts: ${known}` });
  }
  if (consent === null) problems.push({ field: 'consent', message: 'Tick the box to give your consent' });
  if (!isOutcome(outcome)) problems.push({ field: 'outcome', message: 'Choose one of the outcomes' });
  return { form: { idType: id, outcome, hasConsent: consent !== null, problems }, idType };
}

function addConsole(app: Hono, settings: AppSettings): void {
  const { sandbox, simulation, running } = settings;

  app.get('/', (c) => {
    const { partnerId, apiKeys, description } = settings;
    return page(
      c,
      <ConsolePage
        sandbox={sandbox}
        partnerId={partnerId}
        apiKeys={apiKeys}
        links={latestLinks(running, simulation)}
        jobs={latestJobs(running)}
        requests={latest(sandbox.requests)}
        callbacks={latest(sandbox.callbacks)}
        hasDescription={description !== null}
      />,
    );
  });

  app.get('/console/links/:refId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return page(c, <NotFoundPage />, 404);
    const jobs = jobsOf(running, found);
    const story = describeStory({ ...found, jobs, callbacks: sandbox.callbacks, sightings: simulation });
    const shown = jobs.map((job) => ({ environment: found.environment, job })).reverse();
    return page(c, <LinkStoryPage {...found} story={story} jobs={{ entries: shown, total: shown.length }} />);
  });

  app.post('/console/links/:refId/disable', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return page(c, <NotFoundPage />, 404);
    const { environment, link } = found;
    const { store, now } = running.environments[environment].context();
    if (link.disabledAt === null) store.changeLink(link, { disabledAt: now() });
    return back(c, `/console/links/${link.refId}`, `link-${link.refId}`);
  });

  app.post('/console/jobs/complete', async (c) => {
    const fields = new URLSearchParams(await c.req.text());
    const environment = fields.get('environment') === 'production' ? 'production' : 'sandbox';
    const job = { userId: fields.get('userId') ?? '', jobId: fields.get('jobId') ?? '' };
    const stored = running.environments[environment].context().store.findJob(job);
    if (stored === undefined) return page(c, <NotFoundPage />, 404);
    // A page that was loaded before the result still has the buttons, so the job may be complete already.
    const outcome = fields.get('outcome') === 'approved' ? 'approved' : 'rejected';
    if (stored.outcome === null) simulation.complete(environment, job, outcome);
    return back(c, '/', jobRowId(environment, stored));
  });

  app.post('/console/callbacks/:id/resend', async (c) => {
    const given = new URLSearchParams(await c.req.text()).get('variant');
    const variant = variants.find((known) => known === given);
    const { id } = await sandbox.resend(Number(c.req.param('id')), variant === undefined ? {} : { variant });
    return back(c, '/', `callback-${id}`);
  });

  app.post('/console/faults', async (c) => {
    const fields = Object.fromEntries(new URLSearchParams(await c.req.text()));
    const [kind, status] = (fields.fault ?? '').split(/-(?=\d)/);
    const isLimited = status === '429';
    const fault = { kind, ...(status && { status: Number(status) }), ...(isLimited && { retryAfter: '1' }) };
    failNext(
      sandbox,
      checkInput(failNextInput, { environment: fields.environment, operation: fields.operation, fault }),
    );
    return back(c, '/', 'faults');
  });

  app.post('/console/reset', async (c) => {
    await sandbox.reset();
    return c.redirect('/', 303);
  });
}

function jobsOf(running: RunningService, { environment, link }: FoundLink): readonly StoredJob[] {
  return running.environments[environment].context().store.jobsOf(link.refId);
}

/** Redirects to the page that sent the form, with the row's id as the fragment. */
function back(c: Context, otherwise: string, rowId: string): Response {
  const referrer = URL.parse(c.req.header('referer') ?? '');
  const isOwn = referrer !== null && isHttpUrl(referrer) && referrer.host === c.req.header('host');
  // Browsers take a location that begins with `//` for another host.
  const path = isOwn && !referrer.pathname.startsWith('//') ? referrer.pathname : otherwise;
  return c.redirect(`${path}#${rowId}`, 303);
}

/** The latest links of both environments, newest first. */
function latestLinks(running: RunningService, simulation: Simulation): Latest<ShownLink> {
  const stores = environments.map((environment) => running.environments[environment].context().store);
  const entries = stores.flatMap((store) => {
    const count = store.countLinks();
    const latest = store.sliceLinks(Math.max(0, count - mostShown), mostShown).toReversed();
    return latest.flatMap(({ refId }) => simulation.findLink(refId) ?? []);
  });
  const total = stores.reduce((sum, store) => sum + store.countLinks(), 0);
  return { entries: entries.sort((a, b) => b.link.createdAt - a.link.createdAt).slice(0, mostShown), total };
}

/** The latest jobs of both environments, newest first. */
function latestJobs(running: RunningService): Latest<ShownJob> {
  const jobs = environments.flatMap((environment) => {
    const { store } = running.environments[environment].context();
    return store
      .jobs()
      .toReversed()
      .map((job) => ({ environment, job }));
  });
  return { entries: jobs.sort((a, b) => b.job.startedAt - a.job.startedAt).slice(0, mostShown), total: jobs.length };
}

function latest<T>(entries: readonly T[]): Latest<T> {
  return { entries: entries.slice(-mostShown).toReversed(), total: entries.length };
}
