/**
 * `links create|get|list|update|disable`: the links of an account.
 *
 * @module
 */

import type { IdType, Link, LinkChanges, NewLink } from '../../index.js';
import { linkFields, sentFields } from '../../links/fields.js';
import { withoutUndefined } from '../../runtime/untrusted-objects.js';
import { type Arguments, choiceFlag, type Flag, integerFlag, toFlag, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { type Context, createClient } from '../context.js';
import { factsOf, writeFacts, writeJsonLine, writeLine, writeTable } from '../output.js';

const idTypeFlag: Flag = {
  value: 'COUNTRY:TYPE:METHOD',
  about: 'an ID that the link accepts, such as NG:BVN:biometric_kyc; repeat the flag for more IDs',
  isList: true,
};

/** The help texts of the fields of a new link. */
const newLinkTexts: Readonly<Record<keyof Omit<NewLink, 'extra'>, string>> = {
  name: "the link's name, which only you see",
  companyName: 'your name, as the end user sees it',
  idTypes: idTypeFlag.about,
  isSingleUse: 'the link is for one user, and works once',
  userId: 'the user of a single-use link',
  callbackUrl: 'the URL that results are posted to',
  dataPrivacyPolicyUrl: 'your privacy policy',
  logoUrl: 'your logo, a png or svg',
  expiresAt: 'when the link expires, such as 2026-12-31T00:00:00Z',
};

const newLinkFlags = sentFields.map(({ name, kind, sent }) => {
  const flag = toFlag(name);
  const value = kind === 'time' ? 'TIME' : flag.slice(flag.lastIndexOf('-') + 1).toUpperCase();
  const about = sent === 'required' ? `${newLinkTexts[name]}; required` : newLinkTexts[name];
  const rules: Flag =
    kind === 'idTypes' ? idTypeFlag : { about, ...(kind !== 'flag' && { value }), ...(kind === 'url' && { kind }) };
  return { flag, name, value, isRequired: sent === 'required', rules };
});

const create: Command = {
  name: 'links create',
  about: 'create a link',
  positionals: [],
  flags: Object.fromEntries(newLinkFlags.map(({ flag, rules }) => [flag, rules])),
  async run(given, context) {
    const link = readNewLink(given);
    const created = await createClient(context).links.create(link, { signal: context.signal });
    if (given.isSet('json')) writeJsonLine(context, created);
    else writeFacts(context, { [linkFields.refId.label]: created.refId, [linkFields.url.label]: created.url });
  },
};

function readNewLink(given: Arguments): NewLink {
  const properties = newLinkFlags.map(({ flag, name, value, isRequired, rules }) => {
    if (isRequired && given.text(flag) === undefined) {
      throw new UsageError(`--${flag} is missing: --${flag} ${value}`);
    }
    if (rules.isList) return [name, readIdTypes(given)];
    return [name, rules.value === undefined ? given.isSet(flag) || undefined : given.text(flag)];
  });
  const link: unknown = { callbackUrl: null, ...withoutUndefined(Object.fromEntries(properties)) };
  return link as NewLink;
}

function readIdTypes(given: Arguments): readonly IdType[] | undefined {
  return given.list('id-type')?.map((text) => {
    const first = text.indexOf(':');
    const last = text.lastIndexOf(':');
    if (first <= 0 || first === last || last === text.length - 1) {
      throw new UsageError('--id-type must be COUNTRY:TYPE:METHOD, such as NG:BVN:biometric_kyc');
    }
    // The kind of ID is in the middle. An empty kind means "others".
    return {
      country: text.slice(0, first),
      idType: text.slice(first + 1, last),
      verificationMethod: text.slice(last + 1),
    };
  });
}

const get: Command = {
  name: 'links get',
  about: 'show a link',
  positionals: ['REF'],
  flags: {},
  async run(given, context) {
    await show(given, context, (refId) => createClient(context).links.get(refId, { signal: context.signal }));
  },
};

/** Prints the link that a request returns. */
async function show(
  given: Arguments,
  context: Context,
  send: (refId: string) => PromiseLike<Pick<Link, 'refId' | 'state'>>,
): Promise<void> {
  const [refId = ''] = given.positionals;
  const link = await send(refId);
  if (given.isSet('json')) writeJsonLine(context, link);
  else writeFacts(context, linkFacts(link));
}

function linkFacts(link: Pick<Link, 'refId' | 'state'>): Readonly<Record<string, unknown>> {
  const { refId, ...others } = linkFields;
  return { [refId.label]: link.refId, State: link.state, ...factsOf(others, link, writers) };
}

/** How values are written that are neither a string nor a time. */
const writers: Readonly<Record<string, (value: never) => string>> = {
  flag: (value: boolean) => (value ? 'yes' : 'no'),
  codes: (ids: readonly string[]) => ids.join(', '),
  idTypes: (entries: readonly IdType[]) => entries.map(writeIdType).join(', '),
  counts: ({ total, successful, failed }: Link['jobs']) => `${total} (${successful} succeeded, ${failed} failed)`,
};

function writeIdType({ country, idType, verificationMethod }: IdType): string {
  return `${country}:${idType}:${verificationMethod}`;
}

const defaultLimit = 100;

const list: Command = {
  name: 'links list',
  about: 'list links, in the order of the service',
  positionals: [],
  flags: { limit: integerFlag(`the largest number of links; default ${defaultLimit}`, { min: 1, max: 1_000_000 }) },
  async run(given, context) {
    const limit = given.number('limit') ?? defaultLimit;
    const { links, totalCount } = await collect(context, limit);
    if (given.isSet('json')) writeJsonLine(context, links);
    else if (links.length > 0) writeRows(context, links);
    if (links.length === 0) writeLine(context.stderr, 'There are no links');
    if (totalCount > links.length)
      writeLine(context.stderr, `These are the first ${links.length} of ${totalCount} links: see --limit`);
  },
};

async function collect(context: Context, limit: number) {
  const links: Link[] = [];
  let totalCount = 0;
  for await (const page of createClient(context).links.list({ signal: context.signal }).pages()) {
    ({ totalCount } = page.meta);
    links.push(...page.links.slice(0, limit - links.length));
    if (links.length >= limit) break;
    if (context.stderr.isTTY && page.hasNextPage) writeLine(context.stderr, `${links.length} of ${totalCount} …`);
  }
  return { links, totalCount };
}

function writeRows(context: Context, links: readonly Link[]): void {
  const rows = links.map((link) => [link.refId, link.state, link.name, link.jobs.total, link.createdAt, link.url]);
  writeTable(context, ['REF', 'STATE', 'NAME', 'JOBS', 'CREATED', 'URL'], rows);
}

const update: Command = {
  name: 'links update',
  about: 'change the ID types that a link accepts, or disable it',
  positionals: ['REF'],
  flags: {
    'id-type': { ...idTypeFlag, about: `${idTypeFlag.about}; these IDs replace all earlier IDs` },
    disabled: choiceFlag('true disables the link; false asks the service to enable it', ['true', 'false']),
  },
  async run(given, context) {
    const idTypes = readIdTypes(given);
    const disabled = given.text('disabled');
    const changes = {
      ...(idTypes && { idTypes }),
      ...(disabled !== undefined && { isDisabled: disabled === 'true' }),
    };
    if (Object.keys(changes).length === 0) throw new UsageError('Nothing to change: give --id-type or --disabled');
    await show(given, context, (refId) =>
      createClient(context).links.update(refId, changes as LinkChanges, { signal: context.signal }),
    );
  },
};

const disable: Command = {
  name: 'links disable',
  about: 'disable a link',
  positionals: ['REF'],
  flags: {},
  async run(given, context) {
    await show(given, context, (refId) => createClient(context).links.disable(refId, { signal: context.signal }));
  },
};

export const linkCommands: readonly Command[] = [create, get, list, update, disable];
