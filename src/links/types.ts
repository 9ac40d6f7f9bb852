/**
 * Links as callers see them: inputs and results (docs/protocol.md §2.1 to §2.3).
 *
 * @module
 */

import type { CallOptions } from '../options.js';

/** The verification methods that the protocol names (§2.1). */
export type VerificationMethod =
  | 'biometric_kyc'
  | 'doc_verification'
  | 'enhanced_document_verification'
  | 'enhanced_kyc';

/** A kind of ID that a link accepts, with its verification method (§2.1). */
export interface IdType {
  /** Two-letter country code, sent in capitals. Empty if the service sent none. */
  readonly country: string;
  /**
   * The kind of ID, in the spelling of the service, whose documents list the kinds of each country. This package knows a
   * few examples only. The empty string means "others".
   */
  readonly idType: 'BVN' | 'DRIVERS_LICENSE' | 'PASSPORT' | (string & {});
  /** One of {@link VerificationMethod}, or a newer method of the service; empty if the service sent none. */
  readonly verificationMethod: VerificationMethod | (string & {});
}

/**
 * A link to be created (§4.1).
 *
 * @typeParam Method - The type of the verification methods in `idTypes`.
 */
export interface NewLink<Method extends string = VerificationMethod> {
  /** The partner's name, as shown to the end user. */
  companyName: string;
  /** The privacy policy, as an absolute http(s) URL. */
  dataPrivacyPolicyUrl: string | URL;
  /**
   * The URL to which the service posts results. It must be able to reach this URL, because only a callback names the ids
   * of a job: on your own machine, use the URL of a tunnel. Required unless the client has a `defaultCallbackUrl`. With
   * `null`, no URL is sent, and the default of the partner's account applies. Without a valid callback URL, jobs of
   * `enhanced_kyc` fail.
   */
  callbackUrl?: string | URL | null;
  /** The link's name, for the partner's own use. */
  name?: string;
  /**
   * The kinds of ID that the link accepts, with one verification method for each. Duplicates are sent once. You may pass
   * the `idTypes` of another link, but an entry without a country, or with a method that is not in
   * {@link VerificationMethod}, is rejected with a `HostedValidationError`.
   */
  idTypes?: readonly (IdType & {
    /** How the ID is verified. */
    readonly verificationMethod: Method;
  })[];
  /** The logo: an absolute http(s) URL of a png or svg that anyone can fetch. */
  logoUrl?: string | URL;
  /** Whether the link is for a single use by one user. The protocol does not show the default (§2.2). */
  isSingleUse?: boolean;
  /**
   * Your own id of the user of a single-use link: pass it to find your customer by a result, which comes back under it,
   * as `userId` of a callback's event. Use an opaque id, without a name or an e-mail address. If you leave it out, the
   * service chooses an id. Without `isSingleUse: true`, results come under other ids, one for each job: the client then
   * logs a warning, once.
   */
  userId?: string;
  /**
   * When the link expires: a Date, or an ISO 8601 string with an offset. A string is sent as written. In known
   * deployments, a link without `expiresAt` expires after 90 days.
   */
  expiresAt?: Date | string;
  /**
   * Other fields that the service accepts, sent unchanged. If `extra` has a field that only the client may set, such as
   * `company_name`, the call rejects with a `HostedValidationError`.
   */
  extra?: Record<string, unknown>;
}

/** A link that was created (§4.1). */
export interface CreatedLink {
  /** The URL to give to the end user. */
  readonly url: string;
  /** The link's reference id. All other operations on a link take this id. */
  readonly refId: string;
}

/** Changes to a link (§4.2): at least one. */
export type LinkChanges =
  | {
      /**
       * `true` disables the link. `false` is sent, too, but the protocol does not show whether it enables the link
       * again.
       */
      isDisabled: boolean;
      /**
       * Replaces the whole list. You may pass the entries of a link's `idTypes` unchanged. The client also sends an
       * empty list, but the protocol does not show what the service does with it.
       */
      idTypes?: readonly IdType[];
    }
  | {
      /**
       * `true` disables the link. `false` is sent, too, but the protocol does not show whether it enables the link
       * again.
       */
      isDisabled?: boolean;
      /**
       * Replaces the whole list. You may pass the entries of a link's `idTypes` unchanged. The client also sends an
       * empty list, but the protocol does not show what the service does with it.
       */
      idTypes: readonly IdType[];
    };

/** A link that was changed (§4.2). */
export interface UpdatedLink {
  /** The reference id. If the response has none, this is the id that was passed to the call. */
  readonly refId: string;
  /** The URL for the end user. */
  readonly url: string;
  /** The kinds of ID that the link now accepts; empty if the service sends none. */
  readonly idTypes: readonly IdType[];
  /** When the link was disabled; null while the link is active, or if `disabled_at` is not a readable date. */
  readonly disabledAt: Date | null;
  /** `'disabled'` if the service sends a `disabled_at`, even if the value is not a date. */
  readonly state: 'active' | 'disabled';
}

/** A link as the service keeps it (§2.2). Properties that the service did not send are null. */
export interface Link {
  /** The URL for the end user. */
  readonly url: string;
  /** The same as `refId`, unless the service sends two different ids. You need only `refId`. */
  readonly linkId: string;
  /** The reference id, which every operation on the link takes. */
  readonly refId: string;
  /** The link's name, for the partner's own use. */
  readonly name: string | null;
  /**
   * The kinds of ID that the link accepts; empty if the service sends none, or a list that cannot be read. If a part of
   * the list cannot be read, the whole list is in `extra`, too: do not replace the link's list by this one then.
   */
  readonly idTypes: readonly IdType[];
  /** Whether the link is for a single use by one user. */
  readonly isSingleUse: boolean | null;
  /**
   * The URL that results are posted to. Null if there is none. A value that is not an http(s) URL is null here, and
   * unchanged in `extra`.
   */
  readonly callbackUrl: string | null;
  /**
   * The URL of the privacy policy. Null if there is none. A value that is not an http(s) URL is null here, and
   * unchanged in `extra`.
   */
  readonly dataPrivacyPolicyUrl: string | null;
  /**
   * The URL of the logo. Null if there is none. A value that is not an http(s) URL is null here, and unchanged in
   * `extra`.
   */
  readonly logoUrl: string | null;
  /** The ids of the link's users, without duplicates: the values of the fields `user_id` and `user_ids`. */
  readonly userIds: readonly string[];
  /** How many jobs the link has had; 0 if the service sends no count. */
  readonly jobs: {
    /** All jobs of the link. */
    readonly total: number;
    /** The jobs that failed. */
    readonly failed: number;
    /** The jobs that succeeded. */
    readonly successful: number;
  };
  /** The partner's name, as shown to the end user. */
  readonly companyName: string | null;
  /** The partner id that the service sent. */
  readonly partnerId: string | null;
  /** When the link was created; null if there is no readable date. An unreadable date is in `extra`. */
  readonly createdAt: Date | null;
  /** When the link was last changed; null if there is no readable date. An unreadable date is in `extra`. */
  readonly updatedAt: Date | null;
  /**
   * When the link expires; null if there is no readable date. An unreadable date is in `extra`. The protocol does not
   * show what happens to an expired link (§3).
   */
  readonly expiresAt: Date | null;
  /**
   * When the link was disabled; null while the link is active. An unreadable date is null here, and unchanged in
   * `extra`.
   */
  readonly disabledAt: Date | null;
  /** `'disabled'` if the service sends a `disabled_at`, even if the value is not a date. */
  readonly state: 'active' | 'disabled';
  /**
   * Fields that this package does not know, and those that it cannot read. They are unchanged, and have the service's
   * names. Signatures are left out.
   */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** A page's place in the list (§2.3). */
export interface PageMeta {
  /**
   * The page's number in the service's own numbering. The first page has the number 0 or 1: see
   * {@link WireOptions.firstPage}.
   */
  readonly currentPage: number;
  /** How many links a page has at most. */
  readonly limit: number;
  /** How many links the list has. */
  readonly totalCount: number;
  /** How many pages the list has. */
  readonly totalPages: number;
}

/** One page of links (§4.4). */
export interface LinkPage {
  /** The links of this page, in the service's order, without the links that the previous page had. */
  readonly links: readonly Link[];
  /** The page's place in the list. */
  readonly meta: PageMeta;
  /** Whether another page follows this one. */
  readonly hasNextPage: boolean;
  /**
   * Fetches the page that follows. Each call sends a request.
   *
   * @param options - Options for this call only. An option that is left out is taken from the call of `list`.
   * @returns The next page. After the last page, the result is null, and no request is sent.
   * @throws {HostedResponseError} when the pages do not advance (`paging`).
   *
   * @example The first page and the next
   * ```ts
   * const page = await client.links.list();
   * const next = await page.nextPage();
   * console.log(page.links.length, next?.links.length ?? 0);
   * ```
   *
   * @see [§2.3](../../docs/protocol.md#23-place-in-the-list), [§4.4](../../docs/protocol.md#44-list-links) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  nextPage(options?: CallOptions): Promise<LinkPage | null>;
}
