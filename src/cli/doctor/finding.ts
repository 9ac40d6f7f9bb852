/**
 * What doctor finds.
 *
 * @module
 */

export interface Finding {
  readonly check: 'callback' | 'variables' | 'key' | 'address' | 'clock' | 'call' | 'job_status';
  /** `'unreachable'`: there was no response. `'skipped'`: not checked, because another problem must be solved first. */
  readonly state: 'well' | 'warning' | 'wrong' | 'unreachable' | 'skipped';
  /** The problem, and what would be right. It contains no part of a key, and only the origin of a URL. */
  readonly message: string;
}
