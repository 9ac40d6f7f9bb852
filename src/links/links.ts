/**
 * The `links` namespace: the public methods (docs/protocol.md §4.1 to §4.4).
 *
 * @module
 */

import { type ApiPromise, callOrReject } from '../call/api-promise.js';
import { callOnceStarted, type StartClient } from '../call/call.js';
import type { CallOptions } from '../options.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { check } from '../validation/check.js';
import { findLink } from './find-link.js';
import { createLinkList, type LinkList, type ListOptions } from './link-list.js';
import { createLinkWarnings } from './new-link-warnings.js';
import { createLink, getLink, linkChangesCopy, listLinks, newLinkCopy, updateLink } from './operations.js';
import type { CreatedLink, Link, LinkChanges, NewLink, UpdatedLink, VerificationMethod } from './types.js';

/** Hosted verification links (docs/protocol.md §2.2, §4.1 to §4.4). */
export interface Links {
  /**
   * Creates a link.
   *
   * The request is retried only if the retry cannot create a second link. There are three cases: the service cannot
   * have seen the request, it responded with 429, or it rejected the timestamp with a 4xx. A rejected timestamp leads to
   * one retry, with a corrected clock. After an error whose `mayHaveActed` is true, the link may exist.
   *
   * @typeParam Method - The type of the verification methods in `idTypes`. A string literal must be a known method; a
   *   `string`, as in the `idTypes` of another link, is checked when the call runs.
   * @param link - The link; `callbackUrl` defaults to the client's `defaultCallbackUrl`.
   * @param options - Options for this call only.
   * @returns The URL to give to the end user, and the link's reference id.
   * @throws {HostedValidationError} when the link is invalid; nothing was sent.
   * @throws {HostedAuthenticationError} when partner id and key do not belong together.
   * @throws {HostedResponseError} when the response cannot be used.
   *
   * @example A single-use link
   * ```ts
   * const { url, refId } = await client.links.create({
   *   companyName: 'Example Ltd',
   *   dataPrivacyPolicyUrl: 'https://example.test/privacy',
   *   callbackUrl: 'https://example.test/callbacks',
   *   idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
   *   isSingleUse: true,
   * });
   * ```
   *
   * @see [§4.1](../../docs/protocol.md#41-create-a-link) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  create<Method extends string = VerificationMethod>(
    link: NewLink<VerificationMethod | (string extends Method ? Method : never)>,
    options?: CallOptions,
  ): ApiPromise<CreatedLink>;

  /**
   * Changes a link: disables it, or replaces its ID types. The request is retried automatically.
   *
   * @param refId - The link's reference id.
   * @param changes - At least one change; `idTypes` replaces the whole list.
   * @param options - Options for this call only.
   * @returns The link's URL, ID types and state after the change.
   * @throws {HostedValidationError} when there is no change, or a change is invalid; nothing was sent.
   * @throws {HostedNotFoundError} when the service says that there is no such link (status 404).
   * @throws {HostedResponseError} when the response is about another link (`mismatch`). After a change with
   *   `isDisabled: true`, this error is also thrown when the response does not have the id of the link, and a date of at
   *   most a day ahead in `disabled_at` (`mismatch`). The link may then still be active.
   *
   * @example Add an ID type
   * ```ts
   * const link = await client.links.get(refId);
   * await client.links.update(refId, { idTypes: [...link.idTypes, another] });
   * ```
   *
   * @see [§3](../../docs/protocol.md#3-states) and [§4.2](../../docs/protocol.md#42-change-a-link) of docs/protocol.md
   */
  update(refId: string, changes: LinkChanges, options?: CallOptions): ApiPromise<UpdatedLink>;

  /**
   * Disables a link: short for `update(refId, { isDisabled: true })`. The protocol does not show whether a link can be
   * enabled again.
   *
   * @param refId - The link's reference id.
   * @param options - Options for this call only.
   * @returns The link's URL, ID types and state. The state is `'disabled'`.
   * @throws {HostedNotFoundError} when the service says that there is no such link (status 404).
   * @throws {HostedResponseError} when the response does not have the id of the link, and a date of at most a day ahead
   *   in `disabled_at` (`mismatch`). The link may then still be active.
   *
   * @example Disable a link
   * ```ts
   * const { state, disabledAt } = await client.links.disable(refId);
   * ```
   *
   * @see [§3](../../docs/protocol.md#3-states) and [§4.2](../../docs/protocol.md#42-change-a-link) of docs/protocol.md
   */
  disable(refId: string, options?: CallOptions): ApiPromise<UpdatedLink>;

  /**
   * Fetches one link. The request is retried automatically.
   *
   * @param refId - The link's reference id: letters, digits, `_` and `-`. It must not equal the option
   * `wire.listMarker` (default `'list'`).
   * @param options - Options for this call only.
   * @returns The link as the service keeps it.
   * @throws {HostedValidationError} when `refId` cannot be a reference id; nothing was sent.
   * @throws {HostedNotFoundError} when the service says that there is no such link (status 404).
   * @throws {HostedResponseError} when the response is about another link, or cannot be read.
   *
   * @example How many jobs a link has had
   * ```ts
   * const { state, jobs } = await client.links.get(refId);
   * console.log(state, jobs.successful, 'of', jobs.total);
   * ```
   *
   * @see [§4.3](../../docs/protocol.md#43-get-a-link) of docs/protocol.md
   */
  get(refId: string, options?: CallOptions): ApiPromise<Link>;

  /**
   * Lists links. Await the list for one page, or iterate it for every link. Nothing is sent before the first await or
   * iteration.
   *
   * @param options - The first page to read, how many pages to read, how many pages to fetch ahead, and the options
   *   that every call takes. `totalTimeoutMs` applies to each page.
   * @returns The list. Errors are thrown when you await or iterate the list.
   * @throws {HostedValidationError} when `page`, `prefetch` or `maxPages` is out of range.
   * @throws {HostedResponseError} when the pages do not advance (`paging`).
   *
   * @example Read every link, and fetch four pages ahead
   * ```ts
   * for await (const link of client.links.list({ prefetch: 4 })) console.log(link.refId);
   * ```
   *
   * @see [§2.3](../../docs/protocol.md#23-place-in-the-list), [§4.4](../../docs/protocol.md#44-list-links) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  list(options?: ListOptions): LinkList;

  /**
   * Finds a link by properties that its creator knows. If a `create` failed with an error whose `mayHaveActed` is true,
   * look for the link before you create it again.
   *
   * Null means: no link that matches was in the list during the whole search. The service may still be running a
   * `create` that failed, so wait until it has certainly ended, or look again later.
   *
   * The order of the list is not known, and links may move to other pages while it is read. So `find` reads the whole
   * list, four pages ahead, until two readings in a row agree: a list of N pages takes at least 2N requests. For 5,000
   * links with 20 on a page, these are 500 requests. A list with more pages than half of `maxPages` is rejected after
   * one request. If the service always sends wrong totals that agree with each other, `find` cannot notice this.
   *
   * @param query - At least one criterion. Values are compared exactly (case, blanks, Unicode form), so pass them as the
   *   service shows them, and a link must match all of them.
   *   `createdAfter` is inclusive, and is compared with times of the service's clock. This clock may differ from yours,
   *   so pass the time one minute before you called `create`. Use `createdAfter` if several links have the same name or
   *   user id, or if there are many links.
   * @param options - How many pages to read, and the options that every call takes. `totalTimeoutMs` applies to each
   *   page.
   * @returns The newest link that matches, or null.
   * @throws {HostedValidationError} when no criterion is given, or a criterion is invalid; nothing was sent.
   * @throws {HostedResponseError} when the result is not certain. The reason is `paging` if `maxPages` does not suffice,
   *   or if the totals and the links contradict each other. It is `shape` if the dates do not show which match is the
   *   newest, or whether it was created before `createdAfter`, or if a link lacks the name or the user that you look
   *   for. The message says what you can do.
   * @throws {HostedNotFoundError} when the service knows no list of links at its URL (status 404). This does not mean
   *   that the link does not exist.
   *
   * @example Look for a link before creating it again
   * ```ts
   * const begun = new Date();
   * try {
   *   await client.links.create(newLink);
   * } catch (error) {
   *   if (!isHostedError(error) || !error.mayHaveActed) throw error;
   *   const createdAfter = new Date(begun.getTime() - 60_000);
   *   const link = await client.links.find({ userId, createdAfter });
   *   console.log(link === null ? 'not in the list now' : link.url);
   * }
   * ```
   *
   * @see [§4.4](../../docs/protocol.md#44-list-links) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  find(
    query: {
      /** The link's name. */
      name?: string;
      /** The id of a user of the link. */
      userId?: string;
      /** The link was created at this time or later, by the service's clock. */
      createdAfter?: Date;
    },
    options?: CallOptions & {
      /**
       * The largest number of pages to read: 2 or more, default 1,000. A page that is read again counts again, so the
       * default is enough for 10,000 links with 20 on a page.
       */
      maxPages?: number;
    },
  ): Promise<Link | null>;
}

/**
 * Creates the namespace.
 *
 * @internal
 */
export function createLinks(start: StartClient): Links {
  const call = callOnceStarted(start);
  const warnOfMistakes = createLinkWarnings();
  const pages: Parameters<typeof createLinkList>[1] = {
    firstPage: () => start().settings.wire.firstPage,
    warn: (message) => start().telemetry.warn(message),
    fetch: (page, ...given) => call(listLinks, { page }, ...given).withResponse(),
  };
  return {
    create: (link, options) =>
      callOrReject(() => {
        const { settings, telemetry } = start();
        // Each property is read once, because a getter may change its mind. Input that cannot be read becomes undefined,
        // and the input check rejects it.
        const given = check(newLinkCopy, link).data;
        if (isRecord(given)) {
          warnOfMistakes(given, { settings, telemetry });
          if (given.callbackUrl === undefined) given.callbackUrl = settings.defaultCallbackUrl;
        }
        return call(createLink, given, options);
      }),
    update(refId, changes, options) {
      const given = check(linkChangesCopy, changes ?? {}).data;
      return call(updateLink, isRecord(given) ? { ...given, refId } : given, options);
    },
    disable: (refId, options) => call(updateLink, { refId, isDisabled: true }, options),
    get: (refId, options) => call(getLink, { refId }, options),
    list: (options) => createLinkList(options, pages),
    async find(query, options = {}) {
      // If a lazy client cannot be started, its error has the caller's frame only here.
      start();
      return findLink(query, options, pages);
    },
  };
}
