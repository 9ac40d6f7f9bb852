/**
 * The parts that all pages share: the head, the note that this is a simulation, and small elements.
 *
 * @module
 */

import type { Child } from 'hono/jsx';

export interface LayoutProps {
  readonly title: string;
  /** Whether the page updates itself. */
  readonly isLive?: boolean;
  /** Whether the page is wide, as the pages of the console are. */
  readonly isWide?: boolean;
  readonly children: Child;
}

export function Layout({ title, isLive = false, isWide = false, children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{title} · Sandbox</title>
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        {isLive && <script src="/assets/follow.js" defer />}
        {isWide && <script src="/assets/console.js" defer />}
      </head>
      <body class={isWide ? 'wide' : 'narrow'}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {!isWide && (
          <header class="note">
            <p>
              <strong>Simulation.</strong> This sandbox runs on a developer’s machine. No camera is used and no identity
              is checked.
            </p>
          </header>
        )}
        <main id="main" tabindex={-1}>
          {children}
        </main>
      </body>
    </html>
  );
}

/** A state, in words and with a colour. The words are enough to understand the state. */
export function Badge({ kind, children }: { kind: 'good' | 'bad' | 'wait' | 'plain'; children: Child }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** Writes a page. */
export function renderPage(page: Child): string {
  return `<!doctype html>${page}`;
}
