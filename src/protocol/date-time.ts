/**
 * Reads points in time by pattern and calendar. The platform's own parsing differs between
 * platforms, guesses at what it does not know, and takes 30 February for 1 March.
 *
 * @module
 */

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d{2}):?(\d{2}))?$/i;

/** How strict to be about a missing offset. */
export interface DateTimeReading {
  /** `'utc'` takes text without an offset as UTC; `'required'` refuses it. */
  readonly offset: 'utc' | 'required';
}

/**
 * Reads `2026-01-02T03:04:05.678Z`, with `Z`, `±hh:mm`, `±hhmm` or, as UTC, nothing at the end, and
 * 0 to 9 digits of a second (cut off at the millisecond).
 *
 * @returns the time, or null where the text is none: 30 February is not.
 */
export function parseDateTime(text: string, reading: DateTimeReading = { offset: 'utc' }): Date | null {
  const plain = plainTime(text);
  if (plain !== undefined) return plain;
  const match = pattern.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second = '0', fraction = '', zulu, sign, offsetHour, offsetMinute] = match;
  if (!zulu && !sign && reading.offset === 'required') return null;

  const wall = wallTime(
    { year: Number(year), month: Number(month), day: Number(day) },
    {
      hour: Number(hour),
      minute: Number(minute),
      second: Number(second),
      ms: Number(fraction.slice(0, 3).padEnd(3, '0')),
    },
  );
  if (wall === null) return null;

  if (!sign) return new Date(wall);
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return new Date(wall + (sign === '-' ? offsetMs : -offsetMs));
}

/**
 * Reads what nearly every answer writes, `2026-01-02T03:04:05.678Z`, by place, in a fifth of the time
 * that the pattern takes.
 *
 * @returns the time, null where it is none, or undefined where the text is written otherwise.
 */
function plainTime(text: string): Date | null | undefined {
  if (text.length !== 24 || text[4] !== '-' || text[7] !== '-' || text[10] !== 'T') return undefined;
  if (text[13] !== ':' || text[16] !== ':' || text[19] !== '.' || text[23] !== 'Z') return undefined;
  const date = { year: twoAt(text, 0) * 100 + twoAt(text, 2), month: twoAt(text, 5), day: twoAt(text, 8) };
  const day = { hour: twoAt(text, 11), minute: twoAt(text, 14), second: twoAt(text, 17) };
  const ms = twoAt(text, 20) * 10 + digitAt(text, 22);
  // One place without a digit makes the whole none: no other way of writing has these marks here.
  const time = wallTime(date, { ...day, ms });
  return time === null ? null : new Date(time);
}

function twoAt(text: string, at: number): number {
  return digitAt(text, at) * 10 + digitAt(text, at + 1);
}

/** The digit at a place; not a number where there is another character. */
function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 48;
  return digit >= 0 && digit <= 9 ? digit : Number.NaN;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Reads the date of a header: `Fri, 02 Jan 2026 03:04:05 GMT` (RFC 9110 §5.6.7, IMF-fixdate).
 *
 * @returns the time in ms since the epoch, or null where the text is none.
 */
export function parseHttpDate(text: string): number | null {
  const match = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/.exec(
    text,
  );
  if (!match) return null;
  const [, day, month = '', year, hour, minute, second] = match;
  return wallTime(
    { year: Number(year), month: months.indexOf(month) + 1, day: Number(day) },
    { hour: Number(hour), minute: Number(minute), second: Number(second), ms: 0 },
  );
}

/** How dates begin that are written otherwise than {@link parseDateTime} reads them; what follows does not matter. */
const dateLike: readonly RegExp[] = [
  // 2026-01-02, 2026/1/2
  /^(?<year>\d{4})(?<mark>[-/.])(?<month>\d{1,2})\k<mark>(?<day>\d{1,2})(?=$|[TZ ,+-])/,
  // 20260102
  /^(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})(?=$|[TZ ])/,
  // 2/1/2026, 02.01.2026: by the order of the day and the month that the calendar allows
  /^(?<day>\d{1,2})(?<mark>[-/.])(?<month>\d{1,2})\k<mark>(?<year>\d{4})(?=$|[T ,])/,
  /^(?<month>\d{1,2})(?<mark>[-/.])(?<day>\d{1,2})\k<mark>(?<year>\d{4})(?=$|[T ,])/,
  // Fri, 02 Jan 2026; 2-January-2026
  /^(?:[a-z]{3,9},? )?(?<day>\d{1,2})[ -](?<name>[a-z]{3})[a-z]{0,6}[ -](?<year>\d{4})(?=$|[T ,])/i,
  // Fri Jan 02 2026; January 2, 2026
  /^(?:[a-z]{3,9},? )?(?<name>[a-z]{3})[a-z]{0,6}\.? (?<day>\d{1,2}),? (?<year>\d{4})(?=$|[T ,])/i,
];

/** An epoch of our time, in seconds or milliseconds. */
const epoch = /^[1-9]\d{9}(?:\d{3})?(?:\.\d+)?$/;

/**
 * Whether a string could be a date, in whatever form: it begins with a day of the calendar from 1970
 * on, in digits or with the English name of its month, or it is an epoch. Words are none, and neither
 * is what some systems write for no date, such as `0000-00-00`.
 */
export function couldBeDate(text: string): boolean {
  const written = text.trim();
  return epoch.test(written) || dateLike.some((form) => isInCalendar(form.exec(written)?.groups));
}

function isInCalendar(parts: Readonly<Record<string, string>> | undefined): boolean {
  if (parts === undefined) return false;
  const { year, month, day, name = '' } = parts;
  const monthByName = months.findIndex((known) => known.toLowerCase() === name.toLowerCase()) + 1;
  const date = { year: Number(year), month: month === undefined ? monthByName : Number(month), day: Number(day) };
  return date.year >= 1970 && wallTime(date, { hour: 0, minute: 0, second: 0, ms: 0 }) !== null;
}

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

// The platform would roll what the calendar or the day does not have over into something else.
function wallTime(
  { year, month, day }: { year: number; month: number; day: number },
  { hour, minute, second, ms }: { hour: number; minute: number; second: number; ms: number },
): number | null {
  const leapDay = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  const days = (daysInMonth[month - 1] ?? 0) + leapDay;
  // Asked so that what is no number does not pass either.
  const isThere = year >= 0 && day >= 1 && day <= days && hour <= 23 && minute <= 59 && second <= 59 && ms >= 0;
  if (!isThere) return null;
  const time = Date.UTC(year, month - 1, day, hour, minute, second, ms);
  // Years below 100 stand for those of the last century there.
  return year > 99 ? time : new Date(time).setUTCFullYear(year, month - 1, day);
}
