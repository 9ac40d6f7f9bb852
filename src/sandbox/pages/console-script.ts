/**
 * The script of the console: times, keys, buttons that copy, and failures in the title. Without it, everything else works.
 *
 * @module
 */

/** The script, as it is served. */
export function consoleScript(): string {
  return `(${run})(${ago});\n`;
}

/**
 * Says how long ago a time was, or in how long the next time is. What has happened is never in the future, even if two
 * clocks differ. The browser gets the text of this function, so it must not use anything else.
 */
export function ago(iso: string, nowMs: number, isNext = false): string {
  const passed = Math.round((nowMs - Date.parse(iso)) / 1_000);
  const seconds = Math.max(0, isNext ? -passed : passed);
  if (isNext) return `in ${seconds} s`;
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`;
}

function run(timeAgo: typeof ago): void {
  document.documentElement.classList.add('js');
  const search = document.querySelector<HTMLInputElement>('#search');
  const isList = location.pathname === '/';
  let list = '/';
  try {
    // Escape leads back to the list as it was, with its filter and page.
    if (isList) sessionStorage.setItem('list', location.href);
    list = sessionStorage.getItem('list') ?? list;
  } catch {
    // A browser that keeps nothing for a page throws.
  }

  setInterval(() => {
    for (const time of document.querySelectorAll('main time')) {
      const text = timeAgo(time.getAttribute('datetime') ?? '', Date.now(), time.classList.contains('next'));
      if (time.textContent !== text) time.textContent = text;
    }
  }, 1_000);
  addEventListener('mouseover', ({ target }) => {
    if (!(target instanceof HTMLTimeElement)) return;
    target.title = new Date(target.dateTime).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
  });

  addEventListener('click', async ({ target }) => {
    const button = target instanceof Element && target.closest<HTMLElement>('[data-copy]');
    if (!button) return;
    // Without https, browsers have a clipboard only for pages of loopback.
    const isCopied = await navigator.clipboard?.writeText(button.dataset.copy ?? '').then(
      () => true,
      () => false,
    );
    button.textContent = isCopied ? 'Copied' : 'No clipboard: select it';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  });

  function move(by: number): void {
    const rows = [...document.querySelectorAll<HTMLElement>('.rows a.what')];
    const current = rows.findIndex((row) => row.closest('li')?.contains(document.activeElement));
    rows[Math.min(rows.length - 1, Math.max(0, current + by))]?.focus();
  }

  addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isTyping = target instanceof Element && target.matches('input, select, textarea');
    if (ctrlKey || metaKey || altKey) return;
    if (key === 'Escape') {
      if (isTyping) (target as HTMLElement).blur();
      else if (isList) return;
      else if (document.referrer === list) history.back();
      else location.href = list;
    } else if (isTyping) return;
    else if (key === '/') search?.focus();
    else if (key === 'j') move(1);
    else if (key === 'k') move(-1);
    else return;
    event.preventDefault();
  });

  const nav = document.querySelector<HTMLElement>('[data-failed]');
  const failed = () => Number(nav?.dataset.failed);
  let seen = failed();
  function showFailures(): void {
    if (!document.hidden) seen = failed();
    const title = document.title.replace(/^\(\d+\) /, '');
    const shown = failed() > seen ? `(${failed() - seen}) ${title}` : title;
    if (document.title !== shown) document.title = shown;
  }
  document.addEventListener('visibilitychange', showFailures);
  const observer = new MutationObserver(showFailures);
  if (nav !== null) observer.observe(nav, { attributes: true });
  // The page's other script sets the title after each update.
  observer.observe(document.head, { childList: true, subtree: true });
}
