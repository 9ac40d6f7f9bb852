/**
 * Reading the times that requests carry (docs/protocol.md §4, §5).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';

/** A request's timestamp: as it is signed, and as a time. */
export interface ReadTimestamp {
  readonly text: string;
  readonly ms: number;
}

/** Reads the timestamp of a link operation: text, whatever the format. Null where it is none. */
export function readLinkTimestamp(value: unknown, format: Wire['timestampFormat']): ReadTimestamp | null {
  if (typeof value !== 'string') return null;
  const ms = format === 'iso' ? isoInstant(value) : epochInstant(value, format);
  return ms === null ? null : { text: value, ms };
}

/** Reads the timestamp of a job status request: ISO text or a number (§4.5). Null where it is neither. */
export function readJobTimestamp(value: unknown, format: Wire['jobTimestampFormat']): ReadTimestamp | null {
  if (format === 'iso') return readLinkTimestamp(value, 'iso');
  if (typeof value !== 'number') return null;
  const ms = epochInstant(String(value), format);
  return ms === null ? null : { text: String(value), ms };
}

const isoPattern = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?$/;

/** The time of an ISO 8601 date-time, in milliseconds; without an offset it is UTC. Null where it is none. */
export function isoInstant(text: string): number | null {
  const [, date, , , offset] = isoPattern.exec(text) ?? [];
  if (date === undefined || !isOnCalendar(date)) return null;
  const ms = Date.parse(offset === undefined ? `${text}Z` : text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return Number.isNaN(ms) ? null : ms;
}

/** 30 February is on none, though `Date` makes it 2 March. */
function isOnCalendar(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}

function epochInstant(text: string, format: 'epoch-ms' | 'epoch-s'): number | null {
  if (!/^\d{1,16}$/.test(text)) return null;
  return format === 'epoch-ms' ? Number(text) : Number(text) * 1_000;
}
