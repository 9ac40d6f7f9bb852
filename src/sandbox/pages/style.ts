/**
 * The stylesheet of all pages, in light and dark colours.
 *
 * @module
 */

/** CSS, as it is served. */
export const style = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1a2027, #e8ecf1); --muted: light-dark(#515c68, #a9b4c0);
  --ground: light-dark(#f6f7f9, #0f1318); --surface: light-dark(#ffffff, #181e26);
  --line: light-dark(#d5dae1, #303a46); --control: light-dark(#7a8592, #8793a0);
  --accent: light-dark(#0b57c2, #8fbcff); --accent-strong: light-dark(#08428f, #b9d5ff);
  --on-accent: light-dark(#ffffff, #0a1626);
  --good: light-dark(#116638, #86dba9); --good-ground: light-dark(#e3f4ea, #12301f);
  --bad: light-dark(#a01722, #ff9fa6); --bad-ground: light-dark(#fcebec, #3a161a);
  --wait: light-dark(#7a4a00, #f5c877); --wait-ground: light-dark(#fdf1dc, #35270d);
  --small: 0.875rem;
  /* Large text must leave room for its words on a narrow screen. */
  --gap: min(1rem, 4vw); --inset: min(1.25rem, 5vw); --choice: min(0.625rem, 2vw); --round: 0.625rem;
}
*, *::before, *::after { box-sizing: border-box; }
/* The script keeps the reader's position, so the browser must not do it, too. */
html { overflow-anchor: none; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere; }
main, .note p { margin-inline: auto; padding-inline: var(--gap); max-width: 38rem; }
.wide main { max-width: 90rem; padding-block: 0 2rem; }
main { padding-block: 1.5rem 2rem; } main:focus { outline: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.note { background: var(--wait-ground); color: var(--wait); border-bottom: 1px solid var(--line); font-size: var(--small); }
.note p { margin-block: 0; padding-block: 0.625rem; }
.skip { position: absolute; left: -100vw; padding: 0.75rem 1rem; background: var(--surface); } .skip:focus { left: 0; z-index: 1; }
h1 { margin: 0.5rem 0 1.5rem; font-size: clamp(1.5rem, 1.2rem + 1.5vw, 2rem); line-height: 1.2; letter-spacing: -0.01em; text-wrap: balance; }
h2, legend { margin: 0 0 0.75rem; padding: 0; font-size: 1.25rem; font-weight: 650; line-height: 1.3; }
p { margin: 0 0 0.75rem; }
small, .eyebrow, .empty, .live, .keys, dt { color: var(--muted); font-size: var(--small); }
.live::before, .status::before { content: ""; flex: none; display: inline-block; width: 0.5rem; height: 0.5rem; margin-inline-end: 0.5rem; background: currentcolor; border-radius: 50%; forced-color-adjust: none; }
.live:empty::before { display: none; }
nav .live { margin: 0; }
nav .live::before, .status.good::before { background: var(--good); }
nav .live.bad { padding: 0 0.625rem; color: var(--bad); background: var(--bad-ground); border-radius: 1rem; }
.live.bad::before, .status.bad::before { background: var(--bad); border-radius: 0; }
.status.wait::before { background: var(--wait); }
.status.plain::before { background: none; border: 2px solid currentcolor; }
.brand { display: flex; gap: 0.5rem; align-items: center; }
.brand small { padding: 0 0.5rem; color: var(--wait); background: var(--wait-ground); border-radius: 1rem; font-weight: 500; }
.eyebrow { display: block; margin-bottom: 0.25rem; font-weight: 500; letter-spacing: 0; }
code, pre, .id { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: var(--small); }
pre { margin: 0 0 0.75rem; padding: 1rem; white-space: pre-wrap; background: var(--surface); border: 1px solid var(--line); border-radius: var(--round); }
a { color: var(--accent); text-underline-offset: 0.15em; } a:hover { color: var(--accent-strong); }
main p > a, main dd a, section > a, .card > a, .heading > a, .problems a { display: inline-block; padding-block: 0.625rem; min-height: 2.75rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 0.25rem; }
fieldset, .card { margin: 0 0 1.25rem; padding: var(--inset); min-inline-size: 0; background: var(--surface); border: 1px solid var(--line); border-radius: var(--round); }
fieldset > :last-child, .card > :last-child { margin-bottom: 0; }
legend { float: left; width: 100%; }
fieldset:has(> .choice:last-child) { padding-bottom: calc(var(--inset) - var(--choice)); }
.simulated { padding: calc(var(--inset) - 1px); border: 2px dashed var(--wait); }
.logo { display: block; max-width: min(100%, 16rem); max-height: 4rem; margin-bottom: 1rem; }
legend + * { clear: both; }
.choice { display: flex; gap: min(0.75rem, 3vw); align-items: flex-start; margin-inline: calc(-1px - var(--choice)); padding: var(--choice); min-height: 2.75rem; border: 1px solid transparent; border-radius: 0.5rem; cursor: pointer; clear: both; }
.choice:hover { border-color: var(--line); }
.choice:has(:checked) { border-color: var(--accent); }
.choice input { flex: none; width: min(1.375rem, 7vw); height: min(1.375rem, 7vw); margin: 0.1rem 0 0; accent-color: var(--accent); }
.choice small { display: block; }
button, select, input[type=text], input[type=search] { display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; max-width: 100%; padding: 0.5rem 1.125rem; font: inherit; font-weight: 600; border: 1px solid var(--accent); border-radius: 0.5rem; cursor: pointer; }
button { background: var(--accent); color: var(--on-accent); text-decoration: none; transition: background-color 120ms; }
button:hover { background: var(--accent-strong); color: var(--on-accent); }
.narrow main > form > button { width: 100%; }
.quiet { background: transparent; color: var(--accent); }
.quiet:hover { background: transparent; color: var(--accent-strong); border-color: var(--accent-strong); }
select, input[type=text], input[type=search] { display: block; width: 100%; padding-inline: 0.75rem; background: var(--surface); color: var(--text); border-color: var(--control); font-weight: 400; }
label { display: block; }
.fields { display: grid; gap: var(--gap); }
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; margin-top: 0.75rem; }
.actions .actions { flex: 1 1 28rem; margin-top: 0; }
.actions label { flex: 0 1 22rem; min-width: 0; font-size: var(--small); color: var(--muted); }
.badge { display: inline-block; padding: 0.125rem 0.625rem; font-size: var(--small); font-weight: 600; border: 1px solid currentcolor; border-radius: 1rem; }
.good { color: var(--good); background: var(--good-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
.wait { color: var(--wait); background: var(--wait-ground); }
.plain { color: var(--muted); background: transparent; }
.problems { margin-bottom: 1.25rem; padding: 1.25rem; color: var(--bad); background: var(--bad-ground); border: 1px solid currentcolor; border-radius: var(--round); }
.problems ul { margin: 0; padding: 0; list-style: none; }
.problems a { color: inherit; }
nav { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: center; margin-bottom: 0.25rem; background: var(--ground); border-bottom: 1px solid var(--line); }
nav ul, .chips { display: flex; flex-wrap: wrap; gap: 0 0.25rem; margin: 0; padding: 0; list-style: none; }
nav a, .chips a { display: inline-flex; gap: 0.375rem; align-items: center; justify-content: center; min-width: 2.75rem; min-height: 2.75rem; padding-inline: 0.625rem; color: var(--text); text-decoration: none; }
.chips a { display: inline-block; padding-block: 0.625rem; }
nav a[aria-current=page], .chips a[aria-current=true] { font-weight: 650; box-shadow: inset 0 -3px var(--accent); }
nav form { flex: 1 1 8rem; max-width: 20rem; padding-block: 0.25rem; }
nav .bad { background: transparent; color: var(--bad); }
.count { color: var(--muted); font-size: var(--small); font-variant-numeric: tabular-nums; }
nav .bad .count { color: inherit; }
.done { padding: 0.625rem 1rem; color: var(--good); background: var(--good-ground); border-radius: 0.5rem; }
section, .rows > li { scroll-margin-top: 4rem; }
section, main > form { margin-bottom: 1.25rem; }
.rows, .attempts { margin: 0.5rem 0; padding: 0; list-style: none; }
.rows > li { display: flex; flex-wrap: wrap; gap: 0 0.75rem; align-items: center; min-height: 2.75rem; padding-inline: 0.5rem; font-size: var(--small); border-bottom: 1px solid var(--line); }
.rows > li:hover, .rows > li:target { background: var(--surface); }
.rows > li:target { box-shadow: inset 3px 0 var(--accent); }
.rows a { display: inline-flex; gap: 0.375rem; align-items: center; min-width: 2.75rem; min-height: 2.75rem; text-decoration: none; }
.rows .what { color: inherit; font-weight: 600; }
.rows a:hover { text-decoration: underline; }
.ids { display: flex; flex-wrap: wrap; gap: 0 0.75rem; }
.ids a, .status, .why { color: var(--muted); }
.status { background: none; white-space: nowrap; }
.failed .what, .failed .why, .failed .status, .attempts .failed strong { color: var(--bad); }
.rows > .failed { background: var(--bad-ground); }
.js .copy, .js .keys { display: inline-flex; }
.copy, .keys { display: none; }
.copy { flex: none; padding-inline: 0.625rem; border-color: transparent; font-size: var(--small); }
.failures a { margin-inline-end: 1rem; }
h1 bdi { display: -webkit-inline-box; max-width: 100%; overflow: hidden; vertical-align: bottom; -webkit-box-orient: vertical; -webkit-line-clamp: 3; }
summary { min-height: 2.75rem; padding-block: 0.625rem; color: var(--accent); cursor: pointer; }
.wide h1 { margin: 0.75rem 0; font-size: 1.5rem; }
.wide .problems { margin-bottom: 0.75rem; padding: 0.75rem 1rem; }
.wide h2 { margin-bottom: 0.375rem; font-size: 1.125rem; }
.keys { flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.keys kbd { padding: 0 0.375rem; border: 1px solid var(--line); border-radius: 0.25rem; }
.value { display: inline-flex; gap: 0 0.5rem; align-items: center; } .signed { display: block; }
.code { margin-bottom: 0.75rem; }
form + h2 { margin-top: 1.25rem; }
.code .copy { float: inline-end; }
.heading { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: center; margin-bottom: 0.25rem; }
time { font-variant-numeric: tabular-nums; color: var(--muted); font-size: var(--small); }
dl { display: grid; gap: 0.25rem; margin: 0 0 1.25rem; } dd { margin: 0; }
@media (min-width: 48rem) {
  .fields { grid-template-columns: repeat(3, minmax(0, 1fr)); align-items: end; }
  dl > div { display: grid; grid-template-columns: 8rem minmax(0, 1fr); align-items: baseline; }
}
@media (max-width: 63.99rem) {
  .rows .ids { display: none; }
  .why { flex-basis: 100%; margin-bottom: 0.625rem; }
  nav ul { order: 1; flex-basis: 100%; }
  nav { gap: 0 0.5rem; }
  nav a { padding-inline: 0.375rem; }
  nav form { flex-basis: 4rem; }
  nav .live { margin-inline-start: auto; }
}
@media (min-width: 64rem) {
  nav { position: sticky; top: 0; z-index: 1; }
  nav form { margin-inline-start: auto; }
  .rows > li { display: grid; grid-template-columns: 4.75rem 7.5rem minmax(12rem, 1fr) 15rem minmax(0, 2.4fr); min-height: 2.25rem; }
  .rows a { min-height: 2.25rem; }
  .ids { flex-wrap: nowrap; white-space: nowrap; }
  .why { padding-block: 0.25rem; line-height: 1.3125rem; }
  .why > bdi { display: -webkit-box; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
  .failed .why > bdi, .wait ~ .why > bdi { -webkit-line-clamp: 6; }
  .failures { float: inline-end; }
  .wide dl { grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 2rem; }
  dd .copy { min-height: 1.5rem; padding-block: 0; }
  main dd a { min-height: 1.5rem; padding-block: 0; }
}
@media (forced-colors: active) {
  button { background: ButtonFace; color: ButtonText; }
  .choice { border-color: Canvas; }
  .choice:has(:checked) { border-color: Highlight; }
  .failed > .status { font-weight: 700; text-decoration: underline; }
  nav a[aria-current=page], .chips a[aria-current=true] { border-bottom: 3px solid Highlight; }
}
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { transition: none !important; animation: none !important; scroll-behavior: auto !important; }
}
`;

/** The icon of the pages. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b57c2"/><path d="m9 17 5 5 9-11" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
