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
import type { StoredJob } from '../testing/store.js';
import { variants } from './callbacks.js';
import { checkInput, createControls, failNext, failNextInput } from './controls.js';
import { addLinkPages, findLogoOrigin, respondAs } from './link-routes.js';
import type { Live } from './live.js';
import { ConsolePage, mostShown } from './pages/console-page.js';
import { jobRowId, type Latest, type ShownJob, type ShownLink } from './pages/console-rows.js';
import { followScript } from './pages/follow.js';
import { renderPage } from './pages/layout.js';
import { NotFoundPage, ProblemPage } from './pages/link-page.js';
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

/**
 * Pages have no inline script or style, cannot be shown in a frame, and load nothing from other servers. There is one
 * exception: the page of a link loads the link's logo.
 */
const securityWith = (findLogo: (c: Context) => string | null) =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      styleSrc: ["'self'"],
      scriptSrc: ["'self'"],
      imgSrc: ["'self'", (c) => findLogo(c) ?? ''],
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

  app.use(securityWith((c) => findLogoOrigin(c, settings.simulation)));
  app.use(async (c, next) => {
    await next();
    c.header('cache-control', 'no-store');
  });
  app.onError((error, c) => {
    if (!(error instanceof HostedValidationError)) throw error;
    if (c.req.path.startsWith('/control/')) return c.json({ error: error.message, issues: error.issues }, 400);
    const { message, issues } = error;
    return respondAs(
      c,
      <ProblemPage title="This request was rejected" message={message} />,
      { error: message, issues },
      400,
    );
  });
  app.notFound((c) =>
    c.req.path.startsWith('/control/')
      ? c.json({ error: `No control has this method and path: ${c.req.method} ${c.req.path}` }, 404)
      : respondAs(c, <NotFoundPage />, { error: 'No page has this path, and no link has this id' }, 404),
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
