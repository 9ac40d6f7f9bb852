/**
 * The routes of the console.
 *
 * @module
 */

import type { Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import { type Environment, environments } from '../options.js';
import { routes } from '../protocol/routes.js';
import type { RunningService } from '../testing/running-service.js';
import type { Callbacks } from './callbacks.js';
import { entryActs, failNext } from './controls.js';
import { type KeptBodies, type KeptTexts, readReasonCode } from './kept-bodies.js';
import { isOutcome } from './outcomes.js';
import { Connect, ConnectPage, type ConnectView } from './pages/connect.js';
import type { ConsoleFrame, Counts, Done } from './pages/console-layout.js';
import { ConsoleLinkPage, JobHeading, LinkGonePage } from './pages/console-link.js';
import { CallbackPage, indent, longest, RequestPage } from './pages/detail-pages.js';
import { CreateLink, FaultsPage, readNewLink } from './pages/forms.js';
import { renderPage } from './pages/layout.js';
import { NotFoundPage, ProblemPage } from './pages/link-page.js';
import { StreamPage } from './pages/stream-page.js';
import type { ServiceHandler } from './service-handler.js';
import { writeSignedCurl } from './signed-curl.js';
import type { SigningFacts } from './signing-mistakes.js';
import type { FoundLink, Simulation } from './simulation.js';
import {
  isFailed,
  isJob,
  jobRowId,
  jobUrl,
  keyOf,
  listStream,
  type StreamEntry,
  type StreamJob,
  type StreamLink,
} from './stream.js';
import type { Sandbox, SandboxCallback } from './types.js';
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
  readonly findReceiver: Callbacks['findReceiver'];
  /** How many requests and callbacks were forgotten, because newer ones have taken their place. */
  forgotten(): number;
}

/** Responds with a page. */
export function respondWith(c: Context, content: Child, status: 200 | 400 | 404 | 410 = 200) {
  return c.html(renderPage(content), status);
}

/** Adds the routes of the console. */
export function addConsole(app: Hono, settings: ConsoleSettings): void {
  const { sandbox, simulation, running, bodies, send } = settings;
  const storeOf = (environment: Environment) => running.environments[environment].context().store;

  function listJobs(): readonly StreamJob[] {
    return environments.flatMap((environment) =>
      storeOf(environment)
        .jobs()
        .map((job) => {
          const { linkRefId } = job;
          const link = linkRefId === null ? undefined : storeOf(environment).findLink(linkRefId);
          const isWaiting = () => simulation.isWaiting(environment, job);
          const hasReceiver = () => settings.findReceiver({ environment, linkRefId }) !== null;
          return { at: new Date(job.startedAt), environment, job, linkRefId, link, isWaiting, hasReceiver };
        }),
    );
  }

  function listLinks(): readonly StreamLink[] {
    return environments.flatMap((name) =>
      storeOf(name)
        .sliceLinks(0, storeOf(name).countLinks())
        .flatMap(({ refId, createdAt }) => {
          const found = simulation.findLink(refId);
          return found === null ? [] : [{ ...found, at: new Date(createdAt), linkRefId: refId, job: null }];
        }),
    );
  }

  const listAll = (hasLinks = false): readonly StreamEntry[] => [
    ...(hasLinks ? listLinks() : []),
    ...sandbox.requests,
    ...sandbox.callbacks.map((callback) => ({ ...callback, reasonCode: () => reasonCodeOf(callback) })),
    ...listJobs(),
  ];

  /** The one word that a receiver responded with. */
  function reasonCodeOf({ id, attempts }: SandboxCallback): string | undefined {
    return readReasonCode(bodies.get(`callback ${id}`)?.[`response ${attempts.length - 1}`]);
  }

  function countAll(): Counts {
    const sum = (count: (environment: Environment) => number) =>
      environments.reduce((all, name) => all + count(name), 0);
    return {
      all: sandbox.requests.length + sandbox.callbacks.length + sum((name) => storeOf(name).jobs().length),
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

  app.get('/', (c) => {
    const { show, link, job, q, before } = c.req.query();
    const filter = { show, link, job, q: q?.trim() || undefined, before };
    const frame = frameOf(c);
    const isEmpty = frame.counts.all + frame.counts.links === 0;
    const entries = listStream(listAll(show === 'links' || filter.q !== undefined), filter);
    const jobs = job === undefined ? [] : entries.filter(isJob).slice(0, 5);
    return respondWith(
      c,
      <StreamPage {...{ ...frame, filter, forgotten: settings.forgotten(), entries }}>
        <div data-live="connect">{isEmpty && <Connect view={connectView(c)} at="/" />}</div>
        {jobs.length > 0 && (
          <section aria-label="Job" data-live="job">
            {jobs.map((each) => (
              <JobHeading {...each} />
            ))}
          </section>
        )}
        {show === 'links' && <CreateLink />}
      </StreamPage>,
    );
  });

  app.get('/console/connect', (c) => respondWith(c, <ConnectPage {...frameOf(c)} view={connectView(c)} />));
  app.get('/console/faults', (c) => respondWith(c, <FaultsPage {...frameOf(c)} faults={sandbox.faults} />));
  app.post('/console/links', async (c) => {
    const fields = new URLSearchParams(await c.req.text());
    const environment = 'sandbox';
    const path = routes['links.create'].path.replace('{brand}', running.wire.brand);
    const request = await send({ environment, method: 'POST', path }, JSON.stringify(readNewLink(fields)));
    const { id, reason, linkRefId } = request;
    return reason === null ? goTo(c, `/console/links/${linkRefId}`, 'created') : goTo(c, `/console/requests/${id}`);
  });

  app.get('/console/links/:refId', (c) => {
    const found = simulation.findLink(c.req.param('refId'));
    if (found === null) return respondWith(c, <LinkGonePage {...frameOf(c)} refId={c.req.param('refId')} />, 404);
    const entries = listStream(listAll(), { link: found.link.refId });
    return respondWith(c, <ConsoleLinkPage {...{ ...frameOf(c), ...found, entries }} />);
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
      return goTo(c, `/console/links/${link.refId}`, 'disabled');
    }),
  );
  app.post(
    '/console/links/:refId/play',
    withLink((c, { environment, link }, fields) => {
      const [given, idType] = [fields.get('outcome'), link.idTypes[Number(fields.get('idType'))]];
      const outcome = isOutcome(given) ? given : 'approved';
      const job = simulation.play(link.refId, outcome, { environment, ...(idType && { idType }) });
      const stored = storeOf(environment).findJob(job);
      return goTo(c, `/console/links/${link.refId}`, 'played', stored && jobRowId(environment, stored));
    }),
  );

  app.post('/console/jobs/complete', async (c) => {
    const { environment: name, userId = '', jobId = '' } = c.req.query();
    const environment = environments.find((known) => known === name);
    const job = { userId, jobId };
    const stored = environment && storeOf(environment).findJob(job);
    if (environment === undefined || stored === undefined) return respondWith(c, <NotFoundPage />, 404);
    // A page that was loaded before the result still has the buttons, so the job may be complete already.
    const fields = new URLSearchParams(await c.req.text());
    const outcome = fields.get('outcome') === 'approved' ? 'approved' : 'rejected';
    if (stored.outcome === null) simulation.complete(environment, job, outcome);
    return goTo(c, jobUrl(jobId), 'completed', jobRowId(environment, stored));
  });

  /** The failures before and after an entry. */
  function neighboursOf(entry: StreamEntry) {
    const failures = listStream([...sandbox.requests, ...sandbox.callbacks], { show: 'failed' });
    const key = keyOf(entry);
    return {
      olderFailure: failures.find((each) => keyOf(each) < key),
      newerFailure: failures.findLast((each) => keyOf(each) > key),
    };
  }

  app.get('/console/requests/:id/:text?', (c) => {
    const request = sandbox.requests.find(({ id }) => id === Number(c.req.param('id')));
    if (request === undefined) return respondWith(c, <ForgottenPage />, 404);
    const texts = bodies.get(`request ${request.id}`);
    const sent = texts?.sent ?? '';
    const isCurlShown = sent.length <= longest.text || c.req.param('text') === 'curl';
    const command = { ...request, baseUrl: sandbox.baseUrls[request.environment], sent };
    const curl = isCurlShown ? writeSignedCurl(command, settings.signing) : undefined;
    const page = <RequestPage {...{ ...frameOf(c), request, texts, curl, ...neighboursOf(request) }} />;
    return respondWithText(c, { ...texts, ...(curl && { curl }) }) ?? respondWith(c, page);
  });
  app.get('/console/callbacks/:id/:text?', (c) => {
    const callback = sandbox.callbacks.find(({ id }) => id === Number(c.req.param('id')));
    if (callback === undefined) return respondWith(c, <ForgottenPage />, 404);
    const texts = bodies.get(`callback ${callback.id}`);
    const page = <CallbackPage {...{ ...frameOf(c), callback, texts, ...neighboursOf(callback) }} />;
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

/** Redirects to a page, which says what was done, and shows the row. */
function goTo(c: Context, url: string, done?: Done, row = ''): Response {
  const query = done === undefined ? '' : `${url.includes('?') ? '&' : '?'}done=${done}`;
  return c.redirect(`${url}${query}${row && `#${row}`}`, 303);
}
