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
  const match = pattern.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second = '0', fraction = '', zulu, sign, offsetHour, offsetMinute] = match;
  if (!zulu && !sign && reading.offset === 'required') return null;

  const wall = new Date(0);
  wall.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  wall.setUTCHours(Number(hour), Number(minute), Number(second), Number(fraction.slice(0, 3).padEnd(3, '0')));
  // Whatever the calendar or the day does not have rolled over into something else.
  const kept =
    wall.getUTCMonth() === Number(month) - 1 &&
    wall.getUTCDate() === Number(day) &&
    wall.getUTCHours() === Number(hour) &&
    wall.getUTCMinutes() === Number(minute) &&
    wall.getUTCSeconds() === Number(second);
  if (!kept) return null;

  if (!sign) return wall;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return new Date(wall.getTime() + (sign === '-' ? offsetMs : -offsetMs));
}
