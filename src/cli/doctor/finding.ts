/**
 * What doctor finds.
 *
 * @module
 */

export interface Finding {
  readonly check: 'callback' | 'variables' | 'key' | 'address' | 'clock' | 'call' | 'job_status';
  /** `'unreachable'`: nothing answered. `'skipped'`: it cannot be said before another finding is mended. */
  readonly state: 'well' | 'warning' | 'wrong' | 'unreachable' | 'skipped';
  /** What was found, and what would be right. Nothing of a key, and of a URL its origin alone. */
  readonly message: string;
}
