/**
 * Notifies open pages of changes, by server-sent events.
 *
 * @module
 */

export interface Live {
  /** Notifies open pages after a short delay, so that several changes become one event. */
  changed(): void;
  /** Opens a stream of `change` events for a page. */
  open(): Response;
  stop(): void;
}

/** How long changes are collected, in ms. */
const collectMs = 150;

/** Creates the list of open pages. */
export function createLive(): Live {
  const pages = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const utf8 = new TextEncoder();
  let timer: NodeJS.Timeout | null = null;

  function notify(): void {
    timer = null;
    for (const page of pages) page.enqueue(utf8.encode('event: change\ndata: \n\n'));
  }

  return {
    changed() {
      if (pages.size > 0) timer ??= setTimeout(notify, collectMs);
    },
    open() {
      let own: ReadableStreamDefaultController<Uint8Array>;
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          own = controller;
          pages.add(own);
          own.enqueue(utf8.encode('retry: 1000\n\n'));
        },
        cancel() {
          pages.delete(own);
        },
      });
      return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      for (const page of pages) page.close();
      pages.clear();
    },
  };
}
