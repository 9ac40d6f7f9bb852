// When the service signs: each time long after the time before.

let signedMs = Date.UTC(2026, 0, 2);

/** When a callback or a status is signed. */
export function sign(): Date {
  signedMs += 10_000;
  return new Date(signedMs);
}

/** When a response was signed that is repeated: before all others. */
export const earlier: Date = new Date(signedMs);
