/**
 * The base class of all errors. Programs read `code` and `outcome`; people read the message. `code`, `outcome` and the
 * message contain no keys, signatures, bodies or personal data. A received response is in a private field. Inspection
 * and JSON do not show this field. Methods and getters give access to the response.
 *
 * @module
 */

import { type OperationName, routes } from '../protocol/routes.js';

/**
 * What happened to the request:
 * - `'not_sent'`: the service cannot have seen it;
 * - `'refused'`: the service responded with an error;
 * - `'answered'`: the service responded with something that cannot be used;
 * - `'unknown'`: the service may or may not have acted on the request.
 *
 * The error's `mayHaveActed` says whether the operation may have had an effect although it failed.
 */
export type Outcome = 'not_sent' | 'refused' | 'answered' | 'unknown';

/** One problem with one property. An issue never contains a value that may be personal or secret. */
export interface Issue {
  /** The path of the property, such as `idTypes[0].country`; empty if the whole value is wrong. */
  readonly path: string;
  /** What would be right, such as `must be a string`. */
  readonly message: string;
}

/** The largest number of issues in an error. A check stops after this many. */
export const maxIssues = 20;

/** The facts that every error has. */
export interface ErrorFacts {
  readonly operation?: OperationName | null;
  /** What failed, such as `receive a callback`. Default: the title of the operation. */
  readonly task?: string;
  readonly outcome?: Outcome;
  readonly attempts?: number;
  readonly requestId?: string | null;
  readonly retryable?: boolean;
  /**
   * Whether the service may have acted on the request. Default: true if `outcome` is `'unknown'` or `'answered'`. It is
   * ignored for an operation that only reads.
   */
  readonly mayHaveActed?: boolean;
}

/** A received response, unchanged. The methods of some errors give access to it. */
export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An error response of the service. */
export interface ErrorResponse extends ReceivedResponse {
  readonly serviceCode: string | null;
  readonly serviceMessage: string | null;
  readonly retryAfterMs: number | null;
}

const nodeInspect: unique symbol = Symbol.for('nodejs.util.inspect.custom') as typeof nodeInspect;

/** Every property that JSON and inspection show, besides `name`, if it is an error's own. */
const shownFields: readonly string[] = [
  ...['code', 'message', 'operation', 'outcome', 'attempts', 'requestId', 'retryable', 'mayHaveActed'],
  ...['issues', 'phase', 'timeoutMs', 'reason', 'status', 'serviceCode', 'retryAfterMs', 'elapsedMs'],
];

/**
 * The base of every error of this package. JSON and inspection show only an allow-list of properties: no key, no
 * signature, no body and no personal data. The option `showHidden` of Node's inspection shows nothing more.
 */
export abstract class HostedError extends Error {
  /** A word for the kind of error. It is the same in every version, and in minified code. */
  abstract readonly code: string;
  /** The operation that failed; null if no operation was running. */
  readonly operation: OperationName | null;
  /** What happened to the request. */
  readonly outcome: Outcome;
  /** How many attempts were made; for a `HostedPollTimeoutError`, how many polls. 0 if none was made. */
  readonly attempts: number;
  /** The id that the service gave the last request; null if it gave none. */
  readonly requestId: string | null;
  /** True if it is safe to make the same call again, and the new call may succeed. */
  readonly retryable: boolean;
  /**
   * Whether the service may have acted on the request although the call failed. If it is true after `links.create`,
   * look for the link before you create it again. It is true if `outcome` is `'unknown'` or `'answered'`, or if an
   * earlier attempt of the call may have had an effect. With the outcome `'refused'`, it is true for a
   * `HostedServerError` or `HostedTimeoutError`, because a gateway can send such a response after the service has acted,
   * and for any error response whose status is not a 4xx. It is always false for an operation that only reads, and if no operation was running.
   */
  readonly mayHaveActed: boolean;

  /** @internal */
  constructor(why: string, given: ErrorFacts, options?: ErrorOptions) {
    const facts = completeFacts(given);
    super(messageOf(why, facts), options);
    this.operation = facts.operation;
    this.outcome = facts.outcome;
    this.attempts = facts.attempts;
    this.requestId = facts.requestId;
    this.retryable = facts.retryable;
    this.mayHaveActed = facts.mayHaveActed;
  }

  /**
   * Gives the allow-list of properties that JSON and log lines show.
   *
   * @returns Name, code, message, operation, outcome, attempts, request id, `retryable`, `mayHaveActed`, and those of
   *   the class that are safe to show.
   */
  toJSON(): object {
    const own = shownFields.filter((field) => Object.hasOwn(this, field));
    return { name: this.name, ...Object.fromEntries(own.map((field) => [field, this[field as keyof this]])) };
  }

  // Shows only the allow-list. Node's own inspection can be configured to call getters, which may return personal data.
  /** @internal */
  [nodeInspect](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    const { name: _name, message: _message, ...facts } = this.toJSON() as Record<string, unknown>;
    const cause = this.cause === undefined ? {} : { cause: this.cause };
    return `${this.stack ?? `${this.name}: ${this.message}`} ${inspect({ ...facts, ...cause }, options)}`;
  }
}

/**
 * Gives the errors of a class their `name`, also in minified code. The name is on the prototype, because the stack is
 * written before an error's fields are set. `defineProperty` sets the name, because an assignment would fail if
 * `Error.prototype` is frozen.
 */
export function nameClass(errorClass: { readonly prototype: HostedError }, name: string): void {
  Object.defineProperty(errorClass.prototype, 'name', { value: name, configurable: true, writable: true });
}

// Spreading copies only own properties, so that inherited ones are never read.
function completeFacts(given: ErrorFacts): CompleteFacts {
  const facts = { ...defaultFacts, ...given };
  const isOpen = facts.outcome === 'unknown' || facts.outcome === 'answered';
  const writes = facts.operation !== null && routes[facts.operation].writes;
  return { ...facts, mayHaveActed: writes && (facts.mayHaveActed ?? isOpen) };
}

type CompleteFacts = Required<Omit<ErrorFacts, 'task'>> & { readonly task: string | undefined };

const defaultFacts = {
  operation: null,
  task: undefined,
  outcome: 'not_sent',
  attempts: 0,
  requestId: null,
  retryable: false,
  mayHaveActed: undefined,
} as const;

/** The message of an error, such as `Cannot create a link: …; the link may exist: …`. */
function messageOf(why: string, { operation, task, mayHaveActed }: CompleteFacts): string {
  const route = operation === null ? null : routes[operation];
  const after = mayHaveActed && route?.afterFailure ? `; ${route.afterFailure}` : '';
  return `Cannot ${task ?? route?.title ?? 'go on'}: ${why}${after}`;
}
