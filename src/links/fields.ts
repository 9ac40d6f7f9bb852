/**
 * The fields of a link (docs/protocol.md §2.2, §4.1). Requests, responses, the command line and the console follow
 * this table, in its order.
 *
 * @module
 */

import type { Field } from '../protocol/fields.js';
import type { Link, NewLink } from './types.js';

/** The kinds of fields that callers can send. */
type SentKind = 'code' | 'flag' | 'idTypes' | 'text' | 'time' | 'url';

interface Sent {
  /** Whether a new link must have the property. */
  readonly sent: 'optional' | 'required';
  /** Whether callers may also send the field in `extra`, because they did so before it became a property. */
  readonly mayBeExtra?: true;
}

/** A row for each property of a link and of a new link. `sent` says what the type of a new link says. */
type LinkFields = {
  readonly [Name in Exclude<keyof Link | keyof NewLink, 'state' | 'extra'>]: Name extends keyof NewLink
    ? Field<SentKind> & Sent & { readonly sent: undefined extends NewLink[Name] ? 'optional' : 'required' }
    : Field<SentKind | 'codes' | 'counts'>;
};

export const linkFields = {
  refId: { wire: 'ref_id', kind: 'code', isStrict: true, label: 'Reference id' },
  linkId: { wire: 'link_id', kind: 'code', isStrict: true },
  url: { wire: ['link_url', 'link'], kind: 'url', isStrict: true, label: 'URL' },
  companyName: { wire: 'company_name', kind: 'text', sent: 'required', label: 'Company' },
  name: { wire: 'name', kind: 'text', sent: 'optional', label: 'Name' },
  idTypes: { wire: 'id_types', kind: 'idTypes', sent: 'optional', label: 'ID types' },
  isSingleUse: { wire: 'is_single_use', kind: 'flag', sent: 'optional', label: 'Single use' },
  userId: { wire: 'user_id', kind: 'code', isStrict: true, sent: 'optional', label: 'User id' },
  userIds: { wire: 'user_ids', kind: 'codes', isStrict: true, label: 'User ids' },
  callbackUrl: { wire: 'callback_url', kind: 'url', sent: 'optional', label: 'Callback URL' },
  dataPrivacyPolicyUrl: { wire: 'data_privacy_policy_url', kind: 'url', sent: 'required', label: 'Privacy policy' },
  logoUrl: { wire: 'logo_url', kind: 'url', sent: 'optional', label: 'Logo' },
  jobs: { wire: ['total_jobs', 'failed_jobs', 'successful_jobs'], kind: 'counts', isStrict: true, label: 'Jobs' },
  partnerId: { wire: 'partner_id', kind: 'code', isStrict: true },
  createdAt: { wire: 'created_at', kind: 'time', label: 'Created' },
  updatedAt: { wire: 'updated_at', kind: 'time', label: 'Changed' },
  expiresAt: { wire: 'expires_at', kind: 'time', sent: 'optional', label: 'Expires' },
  disabledAt: { wire: 'disabled_at', kind: 'time', label: 'Disabled' },
} as const satisfies LinkFields;

/** A field that callers send. */
interface SentField extends Field<SentKind>, Sent {
  readonly name: Exclude<keyof NewLink, 'extra'>;
  readonly wire: string;
}

export const sentFields = Object.entries(linkFields).flatMap(([name, field]) =>
  'sent' in field ? [{ ...field, name } as SentField] : [],
);
