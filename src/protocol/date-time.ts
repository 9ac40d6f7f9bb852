/**
 * Parses points in time without `Date.parse`. That function differs between platforms, guesses at unknown formats, and
 * reads 30 February as a day of March.
 *
 * @module
 */

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d{2}):?(\d{2}))?$/i;

/**
 * Returns the time of a date-time string on the wire; null for anything else, such as "Not Available" or a Unix
 * timestamp.
 */
export function toDate(wire: unknown): Date | null {
  return typeof wire === 'string' ? parseDateTime(wire) : null;
}

/**
 * Parses `2026-01-02T03:04:05.678Z`. The offset is `Z`, `±hh:mm` or `±hhmm`. A string without an offset is read as UTC,
 * or gives null if the offset is `'required'`. The fraction of a second has 0 to 9 digits, and is cut off at the
 * millisecond.
 *
 * @returns the time; null if the string is not a valid time (for example, 30 February).
 */
export function parseDateTime(text: string, offset: 'utc' | 'required' = 'utc'): Date | null {
  const usualMs = parseUsualForm(text);
  if (!Number.isNaN(usualMs)) return new Date(usualMs);
  const match = pattern.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second = '0', fraction = '', zulu, sign, offsetHour, offsetMinute] = match;
  if (!zulu && !sign && offset === 'required') return null;

  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return null;
  const offsetMs = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * (sign === '-' ? -60_000 : 60_000);
  // A leap second is the first second of the next day, as Unix time counts (RFC 3339 §5.7).
  const leapMs = second === '60' ? 1_000 : 0;
  const days = daysTo(Number(year), Number(month), Number(day));
  const time = days * msPerDay + msOfDay(Number(hour), Number(minute), leapMs ? 59 : Number(second), leapMs) - offsetMs;
  if (Number.isNaN(time) || (leapMs > 0 && time % msPerDay !== 0)) return null;
  return new Date(time + Number(fraction.slice(0, 3).padEnd(3, '0')));
}

/**
 * Parses `2026-01-02T03:04:05.678Z`, the form of nearly every time in a response. The digits are read by index, because
 * a regular expression would be much slower.
 *
 * @returns the time in ms since the epoch; NaN for any other string. The caller then parses the string with the regular
 * expression.
 */
function parseUsualForm(text: string): number {
  if (text.length !== 24 || text[4] !== '-' || text[7] !== '-' || text[10] !== 'T') return Number.NaN;
  if (text[13] !== ':' || text[16] !== ':' || text[19] !== '.' || text[23] !== 'Z') return Number.NaN;
  const ms = twoAt(text, 20) * 10 + digitAt(text, 22);
  const days = daysTo(twoAt(text, 0) * 100 + twoAt(text, 2), twoAt(text, 5), twoAt(text, 8));
  return days * msPerDay + msOfDay(twoAt(text, 11), twoAt(text, 14), twoAt(text, 17), ms);
}

function twoAt(text: string, at: number): number {
  return digitAt(text, at) * 10 + digitAt(text, at + 1);
}

/**
 * Reads the digit at an index. Any other character gives a large negative number, so that every sum with it is
 * negative, too.
 */
function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 48;
  return digit >= 0 && digit <= 9 ? digit : -1_000_000;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Parses the date of a header: `Fri, 02 Jan 2026 03:04:05 GMT` (RFC 9110 §5.6.7, IMF-fixdate).
 *
 * @returns the time in ms since the epoch; null if the string is not such a date.
 */
export function parseHttpDate(text: string): number | null {
  const match = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT$/.exec(text);
  const [, day, month = '', year, time] = match ?? [];
  const number = String(months.indexOf(month) + 1).padStart(2, '0');
  return parseDateTime(`${year}-${number}-${day}T${time}Z`)?.getTime() ?? null;
}

/** A Unix timestamp with 10 digits (seconds) or 13 digits (milliseconds): a date from 2001 to 2286. */
const epoch = /^[1-9]\d{9}(?:\d{3})?(?:\.\d+)?$/;

/** The day that a string begins with, in any order: `2026-01-02`, `2/1/2026`, `Fri, 02 Jan 2026`, `January 2, 2026`. */
const dayOfString =
  /^(?:[a-z]{3,9},? )?(\d{4}|\d{1,2}|[a-z]{3,9})\.?([-/. ])(\d{1,2}|[a-z]{3,9}),?\2(\d{4}|\d{1,2})(?=$|[TZ ,+-])/i;

/**
 * The time of a date in any form, also in forms that {@link parseDateTime} cannot read: a Unix timestamp, or a string
 * that begins with a real day. If the string does not show the time of day, or if it may be one of two days (`2/1/2026`),
 * this is the earliest time. Null for anything else: words are no dates, and neither is a day before 1970, such as
 * `0000-00-00`, which some systems write for "no date".
 */
export function findEarliestTime(text: string): number | null {
  const trimmed = text.trim();
  if (epoch.test(trimmed)) return Number(trimmed) * (Number(trimmed) < 1e10 ? 1_000 : 1);
  const exact = parseDateTime(trimmed);
  const times = exact ? [exact.getTime()] : startsOfDays(trimmed);
  const earliest = Math.min(...times.filter((time) => time >= 0));
  return Number.isFinite(earliest) ? earliest : null;
}

function startsOfDays(text: string): readonly number[] {
  const separated = text.replace(/^(\d{4})(\d{2})(\d{2})(?=$|[TZ ])/, '$1-$2-$3');
  const [, first = '', , second = '', third = ''] = dayOfString.exec(separated) ?? [];
  const orders = [
    { year: first, month: second, day: third },
    { year: third, month: second, day: first },
    { year: third, month: first, day: second },
  ];
  // A year of two digits is long before 1970.
  return orders.map(({ year, month, day }) => daysTo(Number(year), toMonth(month), Number(day)) * msPerDay);
}

function toMonth(text: string): number {
  const name = text.slice(0, 3).toLowerCase();
  return months.findIndex((month) => month.toLowerCase() === name) + 1 || Number(text);
}

const msPerDay = 86_400_000;

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Counts the days from 1970-01-01 to a day of the Gregorian calendar; NaN if the calendar has no such day. The
 * platform would read 30 February as a day of March, and the year 26 as 1926.
 */
function daysTo(year: number, month: number, day: number): number {
  const leapDay = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  const longest = (daysInMonth[month - 1] ?? 0) + leapDay;
  if (year < 0 || day < 1 || day > longest) return Number.NaN;
  // Counts in years that begin on 1 March, so that a leap day is the last day of its year. March to July have 153 days
  // in total, and August to December also have 153.
  const years = month > 2 ? year : year - 1;
  const months = month > 2 ? month - 3 : month + 9;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  return years * 365 + leapDays + Math.floor((months * 153 + 2) / 5) + (day - 1) - daysToEpoch;
}

/** The number of days from 1 March of the year 0 to 1 January 1970. */
const daysToEpoch = 719_468;

/** Counts the ms from midnight to a time of day; NaN if a day has no such time. */
function msOfDay(hour: number, minute: number, second: number, ms: number): number {
  if (hour < 0 || minute < 0 || second < 0 || ms < 0 || hour > 23 || minute > 59 || second > 59) return Number.NaN;
  return ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}
