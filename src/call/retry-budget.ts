/**
 * How much trying again a client may do in all, so that an outage is not made worse by it.
 *
 * @module
 */

/**
 * How much trying again a client may do: each retry costs, each success gives back. In an outage a
 * thousand calls then make eleven hundred requests, and not three thousand.
 */
export interface RetryBudget {
  /** Takes what a retry costs; false where there is not enough left. */
  spend(): boolean;
  /** Gives back what a success earns. */
  earn(): void;
}

const budget = { full: 500, retryCosts: 5, successEarns: 1 };

/** Makes a full budget. */
export function createRetryBudget(): RetryBudget {
  let tokens = budget.full;
  return {
    spend() {
      if (tokens < budget.retryCosts) return false;
      tokens -= budget.retryCosts;
      return true;
    },
    earn() {
      tokens = Math.min(budget.full, tokens + budget.successEarns);
    },
  };
}
