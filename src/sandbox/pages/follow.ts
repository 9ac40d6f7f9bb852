/**
 * The script of the pages: it updates them, and keeps the reader's place, focus and selection.
 *
 * @module
 */

/** The script, as it is served. */
export function followScript(): string {
  return `(${follow})();\n`;
}

/** This function runs alone in the browser, so it must not use anything else from this module. */
function follow(): void {
  const events = new EventSource('/events');
  const status = document.querySelector('[data-follow]');
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
    } catch {
      // The sandbox has stopped: the event stream has an error.
    }
    isLoading = false;
    if (isOutdated) void load();
  }

  /**
   * Keeps the focused element at its place on the screen. If no element has the focus, it keeps the first visible row.
   * At the top of the page, new rows push the others down.
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

  /** Makes an element equal to another one. Equal parts keep their nodes, so they also keep the focus. */
  function patch(element: Element, next: Element): void {
    // The reader's choices stay.
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

  /** The next node that represents `child`: one with the same id, or one of the same kind if `child` has no id. */
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

  events.addEventListener('open', () => {
    say('This page follows what happens.');
    void load();
  });
  events.addEventListener('change', () => void load());
  events.addEventListener('error', () => say('The sandbox does not respond. This page goes on when it is back.'));
}
