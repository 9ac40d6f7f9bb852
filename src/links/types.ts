/**
 * Links as partners see them: what goes in, what comes out (docs/protocol.md §2.1 to §2.3).
 *
 * @module
 */

import type { CallOptions } from '../options.js';

/** The verification methods the protocol names (§2.1). */
export type VerificationMethod =
  | 'biometric_kyc'
  | 'doc_verification'
  | 'enhanced_document_verification'
  | 'enhanced_kyc';

/** A kind of ID a link accepts, and how it is verified (§2.1). */
export interface IdType {
  /** Two-letter country code. */
  readonly country: string;
  /** The ID kind, as the service spells it; the empty string is the service's "others". */
  readonly idType: string;
  /** One of {@link VerificationMethod}, or a newer one of the service. */
  readonly verificationMethod: VerificationMethod | (string & {});
}

/** A link to be created (§4.1). */
export interface NewLink {
  /** The partner's name, as shown to the end user. */
  companyName: string;
  /** The privacy policy, as an absolute http(s) address. */
  dataPrivacyPolicyUrl: string | URL;
  /**
   * Where results are posted. Required unless the client has a `defaultCallbackUrl`; `null` leaves
   * it out, and the service's own default applies.
   */
  callbackUrl?: string | URL | null;
  /** The link's name. */
  name?: string;
  /** The kinds of ID the link accepts; one verification method for each. */
  idTypes?: readonly (IdType & { readonly verificationMethod: VerificationMethod })[];
  /** A public png or svg. */
  logoUrl?: string | URL;
  /** Whether the link serves one user once. The service's default is not shown (§2.2). */
  isSingleUse?: boolean;
  /** The user to track with a single-use link; the service makes one up where none is given. */
  userId?: string;
  /** When the link ends. Text is ISO 8601 with an offset and is sent as written. */
  expiresAt?: Date | string;
  /** Members the service takes that the protocol does not name. None may replace a named one. */
  extra?: Record<string, unknown>;
}

/** What creating a link answers (§4.1). */
export interface CreatedLink {
  /** The address to give to the end user. */
  readonly url: string;
  /** The link's reference id: what every other operation takes. */
  readonly refId: string;
}

/** Changes to a link (§4.2): at least one. */
export interface LinkChanges {
  /** `true` disables the link. Whether `false` enables it again is not shown; it is sent. */
  isDisabled?: boolean;
  /** Replaces the whole list. Entries come back as the service sent them; `[]` is sent. */
  idTypes?: readonly IdType[];
}

/** What changing a link answers (§4.2). */
export interface UpdatedLink {
  readonly refId: string;
  readonly url: string;
  readonly idTypes: readonly IdType[];
  /** Null while the link is active, and where the service's text is no date. */
  readonly disabledAt: Date | null;
  /** Disabled when `disabled_at` is there at all, even where it is no readable date. */
  readonly state: 'active' | 'disabled';
}

/** A link as the service keeps it (§2.2). */
export interface Link {
  /** The address for the end user. */
  readonly url: string;
  /** The same as `refId`, unless the service sends two different ids. */
  readonly linkId: string;
  /** The reference id: what every operation on the link takes. */
  readonly refId: string;
  readonly name: string | null;
  readonly idTypes: readonly IdType[];
  readonly isSingleUse: boolean | null;
  /** Null where there is none or it is no http(s) address; its text is then in `extra`. */
  readonly callbackUrl: string | null;
  /** Null where there is none or it is no http(s) address; its text is then in `extra`. */
  readonly dataPrivacyPolicyUrl: string | null;
  /** Null where there is none or it is no http(s) address; its text is then in `extra`. */
  readonly logoUrl: string | null;
  /** `user_id` and `user_ids` of the wire together, without doubles. */
  readonly userIds: readonly string[];
  /** How many jobs the link has had. */
  readonly jobs: { readonly total: number; readonly failed: number; readonly successful: number };
  readonly companyName: string | null;
  readonly partnerId: string | null;
  readonly createdAt: Date | null;
  readonly updatedAt: Date | null;
  readonly expiresAt: Date | null;
  /** Null while the link is active, and where the service's text is no date: read `state`. */
  readonly disabledAt: Date | null;
  /** Disabled when `disabled_at` is there at all, even where it is no readable date. */
  readonly state: 'active' | 'disabled';
  /** Members this package does not know, as they came. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Where in the list a page stands (§2.3). */
export interface PageMeta {
  /** As the service counts: from 0 or from 1, see `wire.firstPage`. */
  readonly currentPage: number;
  /** Links a page. */
  readonly limit: number;
  readonly totalCount: number;
  readonly totalPages: number;
}

/** One page of links (§4.4). */
export interface LinkPage {
  readonly links: readonly Link[];
  readonly meta: PageMeta;
  /** Whether another page follows this one. */
  readonly hasNextPage: boolean;
  /** Fetches the page that follows; null after the last one. */
  nextPage(options?: CallOptions): Promise<LinkPage | null>;
}
