/**
 * The routes of the console.
 *
 * @module
 */

import type { Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import { type Environment, environments } from '../options.js';
import { isHttpUrl } from '../protocol/http-url.js';
import { routes } from '../protocol/routes.js';
import type { RunningService } from '../testing/running-service.js';
import type { StoredJob } from '../testing/store.js';
import { entryActs, failNext } from './controls.js';
import type { KeptBodies, KeptTexts } from './kept-bodies.js';
import { isOutcome } from './outcomes.js';
import { Connect, ConnectPage, type ConnectView, DeletePage } from './pages/connect.js';
import type { ConsoleFrame, Counts, Done } from './pages/console-layout.js';
import { CallbackPage, indent, longest, RequestPage } from './pages/detail-pages.js';
import { renderPage } from './pages/layout.js';
import { NotFoundPage, ProblemPage } from './pages/link-page.js';
import { FaultsPage, JobPanel, JobsPage, LinksPage, type Part, readNewLink } from './pages/list-pages.js';
import { jobRowId, LinkGonePage, LinkStoryPage, type ShownJob } from './pages/story-page.js';
import { mostShown, StreamPage } from './pages/stream-page.js';
import type { ServiceHandler } from './service-handler.js';
import { writeSignedCurl } from './signed-curl.js';
import type { SigningFacts } from './signing-mistakes.js';
import type { FoundLink, Simulation } from './simulation.js';
import { describeJobs, describeLink, type JobStory } from './stories.js';
import { isFailed, listStream } from './stream.js';
import type { Sandbox } from './types.js';
import { findShell, shells } from './variables.js';

export interface ConsoleSettings {
  readonly sandbox: Sandbox;
  readonly running: RunningService;
  readonly simulation: Simulation;
  readonly bodies: KeptBodies;
  readonly signing: SigningFacts;
  /** The text of the OpenAPI description. Null if the file is not installed. */
  readonly description: string | null;
  readonly send: ServiceHandler['send'];
  /** How many requests and callbacks were forgotten, because newer ones have taken their place. */
  forgotten(): number;
}

/** How many rows the page of a link has at most. */
const mostRows = 80;

/** Responds with a page. */
export function respondWith(c: Context, content: Child, status: 200 | 400 | 404 | 410 = 200) {
  return c.html(renderPage(content), status);
}

/** Adds the routes of the console. */
export function addConsole(app: Hono, settings: ConsoleSettings): void {
  const { sandbox, simulation, running, bodies, send } = settings;
  const storeOf = (environment: Environment) => running.environments[environment].context().store;
  const source = { requests: sandbox.requests, callbacks: sandbox.callbacks, sightings: simulation };

  function countAll(): Counts {
    const sum = (count: (environment: Environment) => number) =>
      environments.reduce((all, name) => all + count(name), 0);
    return {
      all: sandbox.requests.length + sandbox.callbacks.length,
      failed: sandbox.requests.filter(isFailed).length + sandbox.callbacks.filter(isFailed).length,
      callbacks: sandbox.callbacks.length,
      links: sum((name) => storeOf(name).countLinks()),
      jobs: sum((name) => storeOf(name).jobs().length),
      faults: sandbox.faults.length,
    };
  }

  const frameOf = (c: Context): ConsoleFrame => ({ counts: countAll(), done: c.req.query('done') });

  function connectView(c: Context): ConnectView {
    const { description, signing } = settings;
    const { baseUrls } = sandbox;
    const { brand, listMarker } = running.wire;
    const path = routes['links.list'].path.replace('{brand}', brand).replace('{list}', listMarker);
    const request = { operation: 'links.list', method: 'POST', path, baseUrl: baseUrls.sandbox, sent: '{}' } as const;
    return {
      signing,
      baseUrls,
      hasDescription: description !== null,
      curl: writeSignedCurl(request, signing),
      shell: shells.find((name) => name === c.req.query('shell')) ?? findShell(process.env),
    };
  }

  const jobsOf = (environment: Environment, jobs: readonly StoredJob[]): readonly ShownJob[] =>
    jobs.map((job) => ({ environment, job })).toReversed();
  const allJobs = (isShown = (_: StoredJob) => true) =>
    environments
      .flatMap((name) => jobsOf(name, storeOf(name).jobs().filter(isShown)))
      .sort((a, b) => b.job.startedAt - a.job.startedAt);

  app.get('/', (c) => {
    const { show, link, job, q, before } = c.req.query();
    const filter = { show, link, job, q: q?.trim() || undefined, before };
    const about = job ?? filter.q;
    const jobs = about === undefined ? [] : allJobs(({ jobId, userId }) => jobId === about || userId === about);
    const frame = frameOf(c);
    const isEmpty = frame.counts.all + frame.counts.links + frame.counts.jobs === 0;
    return respondWith(
      c,
      <StreamPage {...{ ...frame, filter, forgotten: settings.forgotten() }} entries={listStream(sandbox, filter)}>
        {isEmpty && <Connect view={connectView(c)} at="/" />}
        {jobs.length > 0 && <JobPanel jobs={jobs.slice(0, 5)} />}
        {filter.q !== undefined && simulation.findLink(filter.q) !== null && (
          <p>
            <a href={`/console/links/${filter.q}`}>
              Open the link <bdi>{filter.q}</bdi>
            </a>
          </p>
        )}
      </StreamPage>,
    );
  });

  app.get('/console/connect', (c) => respondWith(c, <ConnectPage {...frameOf(c)} view={connectView(c)} />));
  app.get('/console/faults', (c) => respondWith(c, <FaultsPage {...frameOf(c)} faults={sandbox.faults} />));
  app.get('/console/jobs', (c) => respondWith(c, <JobsPage {...frameOf(c)} jobs={partOf(c, allJobs())} />));
  app.get('/console/links', (c) => {
    const links = environments.flatMap((name) => storeOf(name).sliceLinks(0, storeOf(name).countLinks()));
    const newest = links.toSorted((a, b) => b.createdAt - a.createdAt);
    const { entries, ...part } = partOf(c, newest);
    const found = entries.flatMap(({ refId }) => simulation.findLink(refId) ?? []);
    return respondWith(c, <LinksPage {...frameOf(c)} links={{ ...part, entries: found }} />);
  });

  app.post('/console/links', async (c) => {
    const fields = new URLSearchParams(await c.req.text());
    const environment = toEnvironment(fields.get('environment'));
    const path = routes['links.create'].path.replace('{brand}', running.wire.brand);
    const request = await send({ environment, method: 'POST', path }, JSON.stringify(readNewLink(fields)));
    const { id, reason, linkRefId } = request;
    return reason === null ? goTo(c, `/console/links/${linkRefId}`, 'created') : goTo(c, `/console/requests/${id}`);
  });

  app.get('/console/links/:refId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return respondWith(c, <LinkGonePage {...frameOf(c)} refId={c.req.param('refId')} />, 404);
    const { environment, link } = found;
    const all = storeOf(environment).jobsOf(link.refId).toReversed();
    const jobs = fitOnPage(describeJobs(environment, partOf(c, all).entries, source));
    const { older, total } = partOf(c, all, jobs.length);
    const story = describeLink(environment, link, source);
    return respondWith(c, <LinkStoryPage {...{ ...frameOf(c), ...found, story, jobs, older, jobCount: total }} />);
  });

  const withLink = (act: (c: Context, found: FoundLink, fields: URLSearchParams) => Response) => async (c: Context) => {
    const found = simulation.findLink(c.req.param('refId') ?? '');
    if (found === null) return respondWith(c, <NotFoundPage />, 404);
    return act(c, found, new URLSearchParams(await c.req.text()));
  };
  app.post(
    '/console/links/:refId/disable',
    withLink((c, { environment, link }) => {
      const { store, now } = running.environments[environment].context();
      if (link.disabledAt === null) store.changeLink(link, { disabledAt: now() });
      return back(c, `/console/links/${link.refId}`, { done: 'disabled' });
    }),
  );
  app.post(
    '/console/links/:refId/play',
    withLink((c, { environment, link }, fields) => {
      const [given, idType] = [fields.get('outcome'), link.idTypes[Number(fields.get('idType'))]];
      const outcome = isOutcome(given) ? given : 'approved';
      const job = simulation.play(link.refId, outcome, { environment, ...(idType && { idType }) });
      const stored = storeOf(environment).findJob(job);
      return back(c, `/console/links/${link.refId}`, { done: 'played', row: stored && jobRowId(environment, stored) });
    }),
  );

  app.post('/console/jobs/complete', async (c) => {
    const { environment: name, userId = '', jobId = '' } = c.req.query();
    const environment = toEnvironment(name);
    const job = { userId, jobId };
    const stored = storeOf(environment).findJob(job);
    if (stored === undefined) return respondWith(c, <NotFoundPage />, 404);
    // A page that was loaded before the result still has the buttons, so the job may be complete already.
    const fields = new URLSearchParams(await c.req.text());
    const outcome = fields.get('outcome') === 'approved' ? 'approved' : 'rejected';
    if (stored.outcome === null) simulation.complete(environment, job, outcome);
    return back(c, '/console/jobs', { done: 'completed', row: jobRowId(environment, stored) });
  });

  app.get('/console/requests/:id/:text?', (c) => {
    const request = sandbox.requests.find(({ id }) => id === Number(c.req.param('id')));
    if (request === undefined) return respondWith(c, <ForgottenPage />, 404);
    const texts = bodies.get(`request ${request.id}`);
    const sent = texts?.sent ?? '';
    const isCurlShown = sent.length <= longest.text || c.req.param('text') === 'curl';
    const command = { ...request, baseUrl: sandbox.baseUrls[request.environment], sent };
    const curl = isCurlShown ? writeSignedCurl(command, settings.signing) : undefined;
    const page = <RequestPage {...{ ...frameOf(c), request, texts, curl }} />;
    return respondWithText(c, { ...texts, ...(curl && { curl }) }) ?? respondWith(c, page);
  });
  app.get('/console/callbacks/:id/:text?', (c) => {
    const callback = sandbox.callbacks.find(({ id }) => id === Number(c.req.param('id')));
    if (callback === undefined) return respondWith(c, <ForgottenPage />, 404);
    const texts = bodies.get(`callback ${callback.id}`);
    const page = <CallbackPage {...{ ...frameOf(c), callback, texts }} />;
    return respondWithText(c, texts ?? {}) ?? respondWith(c, page);
  });
  for (const { list, name, done, run } of entryActs) {
    app.post(`/console/${list}/:id/${name}`, async (c) => {
      const { variant } = Object.fromEntries(new URLSearchParams(await c.req.text()));
      const input = variant === undefined || variant === 'genuine' ? {} : { variant };
      const { id } = await run(sandbox, Number(c.req.param('id')), input);
      return goTo(c, `/console/${list}/${id}`, done);
    });
  }

  app.post('/console/faults', async (c) => {
    const fields = Object.fromEntries(new URLSearchParams(await c.req.text()));
    const [kind, status] = (fields.fault ?? '').split(/-(?=\d)/);
    const isLimited = status === '429';
    const fault = { kind, ...(status && { status: Number(status) }), ...(isLimited && { retryAfter: '1' }) };
    failNext(sandbox, { environment: fields.environment, operation: fields.operation, fault });
    return goTo(c, '/console/faults', 'fault');
  });
  app.post('/console/faults/:id/cancel', (c) => {
    sandbox.cancelFault(Number(c.req.param('id')));
    return goTo(c, '/console/faults', 'cancelled');
  });

  const describeAll = () => {
    const { links, jobs, faults, callbacks } = countAll();
    return `links: ${links}, jobs: ${jobs}, requests: ${sandbox.requests.length}, callbacks: ${callbacks}, faults: ${faults}`;
  };
  app.get('/console/delete', (c) => respondWith(c, <DeletePage {...frameOf(c)} what={describeAll()} isDone={false} />));
  app.post('/console/reset', async (c) => {
    const what = describeAll();
    await sandbox.reset();
    return respondWith(c, <DeletePage {...frameOf(c)} what={what} isDone />);
  });
}

/** Responds with one of the texts alone, if the URL names it. */
function respondWithText(c: Context, texts: KeptTexts): Response | null {
  const found = Object.entries(texts).find(([name]) => name === c.req.param('text'));
  return found === undefined ? null : c.text(indent(found[1] ?? ''));
}

/** The page for a request or callback that is not remembered. */
function ForgottenPage() {
  const message =
    'Newer entries have taken its place, or the sandbox was reset or restarted. See the option keepRequests.';
  return <ProblemPage title="This entry is not remembered" message={message} />;
}

function toEnvironment(name: unknown): Environment {
  return name === 'production' ? 'production' : 'sandbox';
}

/** The part of a list that a page shows: from the entry on that `from` in the URL counts, from 0. */
function partOf<T>(c: Context, entries: readonly T[], count = mostShown): Part<T> {
  const from = Math.max(0, Number(c.req.query('from')) || 0);
  const next = from + count;
  const older = entries.length > next ? `${c.req.path}?from=${next}` : null;
  return { entries: entries.slice(from, next), total: entries.length, older };
}

/** The first jobs, as many as a page has room for: one at least. A heading takes the room of two rows. */
function fitOnPage(jobs: readonly JobStory[]): readonly JobStory[] {
  let rows = 0;
  return jobs.filter(({ story }, index) => {
    rows += 2 + story.length;
    return index === 0 || rows <= mostRows;
  });
}

function goTo(c: Context, url: string, done?: Done): Response {
  return c.redirect(done === undefined ? url : `${url}?done=${done}`, 303);
}

/** Redirects to the page that sent the form, which says what was done, and shows the row. */
function back(c: Context, otherwise: string, { done, row = '' }: { done: Done; row?: string | undefined }): Response {
  const referrer = URL.parse(c.req.header('referer') ?? '');
  const isOwn = referrer !== null && isHttpUrl(referrer) && referrer.host === c.req.header('host');
  // Browsers take a location that begins with `//` for another host.
  const isPath = isOwn && !referrer.pathname.startsWith('//');
  const url = new URL(isPath ? referrer.pathname + referrer.search : otherwise, 'http://console');
  url.searchParams.set('done', done);
  return c.redirect(`${url.pathname}${url.search}${row && `#${row}`}`, 303);
}
