/**
 * The script of the pages: it asks every second whether something has changed, and less often while the page is hidden. It
 * updates the page, and keeps the reader's position, focus and selection.
 *
 * @module
 */

/** The script, as it is served. */
export function followScript(): string {
  return `(${follow})();\n`;
}

/** The browser gets only the text of this function, so the function must not use anything else from this module. */
function follow(): void {
  const status = document.querySelector<HTMLElement>('[data-follow]');
  let shown: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function say(text = '', isLost = false): void {
    if (status !== null && status.textContent !== text) status.textContent = text;
    status?.classList.toggle('bad', isLost);
  }

  async function look(): Promise<void> {
    timer = undefined;
    let isFinal = false;
    try {
      const headers = { accept: 'text/html', ...(shown !== null && { 'if-none-match': shown }) };
      const response = await fetch(location.href, { headers });
      shown = response.headers.get('etag');
      if (response.status !== 304) isFinal = update(await response.text()) && response.ok;
      say(status?.dataset.follow);
    } catch {
      say('The sandbox does not respond', true);
    }
    if (isFinal) status?.remove();
    else timer = setTimeout(look, document.hidden ? 10_000 : 1_000);
  }

  /** Shows the new page. Returns true if it does not change any more. */
  function update(html: string): boolean {
    const page = new DOMParser().parseFromString(html, 'text/html');
    const hold = holdPlace();
    for (const region of document.querySelectorAll('[data-live]')) {
      const next = page.querySelector(`[data-live="${region.getAttribute('data-live')}"]`);
      if (next !== null) patch(region, next);
    }
    hold();
    if (document.title !== page.title) document.title = page.title;
    return page.querySelector('script[src="/assets/follow.js"]') === null;
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
      while (at !== null && at !== same) at = remove(at);
      if (same instanceof Element && child instanceof Element) patch(same, child);
      else if (same.nodeValue !== child.nodeValue) same.nodeValue = child.nodeValue;
      at = same.nextSibling;
    }
    while (at !== null) at = remove(at);
  }

  /** Removes a node, unless the focus is in it. Returns the node after it. */
  function remove(node: ChildNode): ChildNode | null {
    const after = node.nextSibling;
    if (!node.contains(document.activeElement)) node.remove();
    return after;
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

  document.addEventListener('visibilitychange', () => {
    if (document.hidden || timer === undefined) return;
    clearTimeout(timer);
    void look();
  });
  void look();
}
