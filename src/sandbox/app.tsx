/**
 * The routes of the pages and the controls.
 *
 * @module
 */

import type { Context } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import { Hono } from 'hono/tiny';
import { HostedValidationError } from '../errors/client-errors.js';
import { addConsole, type ConsoleSettings } from './console.js';
import { createControls } from './controls.js';
import { addLinkPages, findLogoOrigin, respondAs } from './link-routes.js';
import { consoleScript } from './pages/console-script.js';
import { followScript } from './pages/follow-script.js';
import { renderPage } from './pages/layout.js';
import { NotFoundPage, ProblemPage } from './pages/link-page.js';
import { icon, style } from './pages/style.js';

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

/** Creates the site. `revision` counts the changes that pages show. */
export function createApp(settings: ConsoleSettings & { revision(): number }): Hono {
  const { sandbox, description } = settings;
  const startedAt = Date.now();
  const app = new Hono();

  app.use(securityWith((c) => findLogoOrigin(c, settings.simulation)));
  // An open page asks every second whether something has changed, so most responses are without a body.
  app.use(async (c, next) => {
    const etag = `"${startedAt}-${settings.revision()}"`;
    if (c.req.method === 'GET' && c.req.header('if-none-match') === etag) c.res = c.body(null, 304);
    else await next();
    c.header('etag', etag);
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
  // A client with a wrong base URL gets a page, so that its error names the variable.
  app.notFound((c) =>
    c.req.path.startsWith('/control/')
      ? c.json({ error: `No control has this method and path: ${c.req.method} ${c.req.path}` }, 404)
      : c.html(renderPage(<NotFoundPage />), 404),
  );

  app.route('/', createControls(sandbox, settings.simulation));
  const assets = {
    'style.css': ['text/css', style],
    'icon.svg': ['image/svg+xml', icon],
    'follow.js': ['text/javascript', followScript()],
    'console.js': ['text/javascript', consoleScript()],
  };
  for (const [name, [type, text = '']] of Object.entries(assets)) {
    app.get(`/assets/${name}`, (c) => c.body(text, 200, { 'content-type': `${type}; charset=utf-8` }));
  }
  if (description !== null) {
    app.get('/openapi.yaml', (c) => c.body(description, 200, { 'content-type': 'application/yaml; charset=utf-8' }));
  }
  addLinkPages(app, settings);
  addConsole(app, settings);
  return app;
}
