/**
 * The script of the pages: it updates an open page, and keeps the reader's position, focus and selection. Browsers open
 * only six connections to a server. So one of the open pages holds the stream of events, and notifies the others.
 *
 * @module
 */

/** The script, as it is served. */
export function followScript(): string {
  return `(${follow})();\n`;
}

/** The browser gets only the text of this function, so the function must not use anything else from this module. */
function follow(): void {
  const status = document.querySelector('[data-follow]');
  const leaving = new AbortController();
  let isConnected = false;
  let isLoading = false;
  let isOutdated = false;

  function say(text: string): void {
    if (status !== null && status.textContent !== text) status.textContent = text;
  }

  async function load(): Promise<void> {
    if (isLoading) {
      isOutdated = true;
      return;
    }
    isLoading = true;
    isOutdated = false;
    try {
      const response = await fetch(location.href, { headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const hold = holdPlace();
      for (const region of document.querySelectorAll('[data-live]')) {
        const next = page.querySelector(`[data-live="${region.getAttribute('data-live')}"]`);
        if (next !== null) patch(region, next);
      }
      hold();
      if (document.title !== page.title) document.title = page.title;
      if (response.ok && page.querySelector('script[src="/assets/follow.js"]') === null) leave();
    } catch {
      // The sandbox has stopped. The `error` event of the stream shows a message.
    }
    isLoading = false;
    if (isOutdated) void load();
  }

  /**
   * Keeps one element at its position on the screen. This is the focused element if it is visible, otherwise the first
   * visible row. At the top of the page, rows are not kept in place, so that the reader sees new rows.
   */
  function holdPlace(): () => void {
    const isInView = (element: Element): boolean => {
      const { top, height } = element.getBoundingClientRect();
      return height > 0 && top >= 0 && top < innerHeight;
    };
    const rows = scrollY > 0 ? document.querySelectorAll('main h2, main li') : [];
    const focused = document.querySelector('main :focus');
    const held = focused !== null && isInView(focused) ? focused : [...rows].find(isInView);
    const before = held?.getBoundingClientRect().top ?? 0;
    return () => {
      if (held?.isConnected) scrollBy({ top: held.getBoundingClientRect().top - before, behavior: 'instant' });
    };
  }

  /** Makes `element` equal to `next`. Nodes that are in both elements are not replaced, so they keep the focus. */
  function patch(element: Element, next: Element): void {
    // Form fields are not updated, because they have the reader's choices.
    if (/^(?:input|select|textarea)$/i.test(element.tagName)) return;
    for (const { name } of [...element.attributes]) if (!next.hasAttribute(name)) element.removeAttribute(name);
    for (const { name, value } of next.attributes) {
      if (element.getAttribute(name) !== value) element.setAttribute(name, value);
    }
    let at: ChildNode | null = element.firstChild;
    for (const child of next.childNodes) {
      const same = findSame(at, child);
      if (same === null) {
        element.insertBefore(document.importNode(child, true), at);
        continue;
      }
      while (at !== null && at !== same) {
        const after: ChildNode | null = at.nextSibling;
        at.remove();
        at = after;
      }
      if (same instanceof Element && child instanceof Element) patch(same, child);
      else if (same.nodeValue !== child.nodeValue) same.nodeValue = child.nodeValue;
      at = same.nextSibling;
    }
    while (at !== null) {
      const after: ChildNode | null = at.nextSibling;
      at.remove();
      at = after;
    }
  }

  /**
   * Finds the node to update for `child`: the next node with the same id. If `child` has no id, the node is `from`. In
   * that case, `from` must be of the same kind as `child`, and must not have an id. If there is no such node, returns
   * null.
   */
  function findSame(from: ChildNode | null, child: ChildNode): ChildNode | null {
    const id = child instanceof Element ? child.id : '';
    if (id === '') {
      const isOfItsKind = from !== null && from.nodeName === child.nodeName;
      return isOfItsKind && !(from instanceof Element && from.id !== '') ? from : null;
    }
    for (let node = from; node !== null; node = node.nextSibling) {
      if (node instanceof Element && node.id === id) return node;
    }
    return null;
  }

  /** What the page with the stream says, and `hello`, with which a new page asks for `here`. */
  type Message = 'open' | 'change' | 'lost' | 'hello' | 'here';

  // Without https, browsers have locks only on loopback.
  if (!('locks' in navigator && 'BroadcastChannel' in window)) {
    say('Reload this page to see what is new: this browser does not update it.');
    return;
  }
  const channel = new BroadcastChannel('sandbox');
  let isHolder = false;

  function receive(message: Message): void {
    if (message === 'hello') {
      if (isHolder && isConnected) channel.postMessage('here');
      return;
    }
    if (message === 'here' && isConnected) return;
    isConnected = message !== 'lost';
    if (isConnected) {
      say('This page updates automatically.');
      void load();
    } else say('The sandbox does not respond. This page updates again when the sandbox is back.');
  }

  function notify(message: Message): void {
    channel.postMessage(message);
    receive(message);
  }

  /** Holds the stream until the page is closed, or needs no more updates. */
  function hold(): Promise<void> {
    isHolder = true;
    let events = open();
    function open(): EventSource {
      const opened = new EventSource('/events');
      opened.addEventListener('open', () => notify('open'));
      opened.addEventListener('change', () => notify('change'));
      opened.addEventListener('error', () => {
        notify('lost');
        // The browser itself tries again, but not after an error response.
        if (opened.readyState !== EventSource.CLOSED) return;
        setTimeout(() => {
          if (!leaving.signal.aborted) events = open();
        }, 1_000);
      });
      return opened;
    }
    return new Promise((resolve) => {
      leaving.signal.addEventListener('abort', () => {
        events.close();
        resolve();
      });
    });
  }

  /** Leaves the stream to another page, because this page is final. */
  function leave(): void {
    leaving.abort();
    channel.close();
    status?.remove();
  }

  channel.addEventListener('message', ({ data }) => receive(data));
  channel.postMessage('hello');
  // It rejects if the page is final before the lock is free.
  navigator.locks.request('sandbox', { signal: leaving.signal }, hold).catch(() => undefined);
}
