/**
 * Parses the timestamps of requests (docs/protocol.md §4, §5).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';

/** A timestamp: as it is sent, the signed text, and the time in ms since the epoch. */
export interface ParsedTimestamp {
  readonly sent: string | number;
  readonly signedText: string;
  readonly ms: number;
}

/** Parses the timestamp of a link operation. The timestamp is a string in every format. Null if it is invalid. */
export function parseLinkTimestamp(value: unknown, format: Wire['timestampFormat']): ParsedTimestamp | null {
  if (typeof value !== 'string') return null;
  const ms = format === 'iso' ? parseIsoTime(value) : parseEpochTime(value, format);
  return ms === null ? null : { sent: value, signedText: value, ms };
}

/**
 * Parses the timestamp of a job status request: an ISO string or a number (§4.5). With the format `iso`, the signature
 * of a number covers its ISO form, because published clients sign this form. Null if it is invalid.
 */
export function parseJobTimestamp(value: unknown, format: Wire['jobTimestampFormat']): ParsedTimestamp | null {
  if (typeof value !== 'number') return format === 'iso' ? parseLinkTimestamp(value, 'iso') : null;
  const ms = parseEpochTime(String(value), format === 'iso' ? 'epoch-ms' : format);
  if (ms === null) return null;
  return { sent: value, signedText: format === 'iso' ? new Date(ms).toISOString() : String(value), ms };
}

const isoPattern = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?$/;

/** Parses an ISO 8601 date-time into milliseconds; without an offset, the time is UTC. Null if it is invalid. */
export function parseIsoTime(value: string): number | null {
  const [, date, , , offset] = isoPattern.exec(value) ?? [];
  if (date === undefined || !isCalendarDate(date)) return null;
  const ms = Date.parse(offset === undefined ? `${value}Z` : value.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return Number.isNaN(ms) ? null : ms;
}

/** Whether the calendar has this date: `Date` would turn 30 February into 2 March. */
function isCalendarDate(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}

/** The latest time of `Date`. */
const maxTimeMs = 8.64e15;

function parseEpochTime(value: string, format: 'epoch-ms' | 'epoch-s'): number | null {
  const ms = format === 'epoch-ms' ? Number(value) : Number(value) * 1_000;
  return /^\d{1,16}$/.test(value) && ms <= maxTimeMs ? ms : null;
}
