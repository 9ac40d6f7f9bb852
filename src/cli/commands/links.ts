/**
 * `links create|get|list|update|disable`: the links of an account.
 *
 * @module
 */

import type { IdType, Link, LinkChanges, NewLink } from '../../index.js';
import { withoutUndefined } from '../../runtime/untrusted-objects.js';
import { type Arguments, choiceFlag, type Flag, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { type Context, createClient, exitCodes } from '../context.js';
import { writeFacts, writeJsonLine, writeLine, writeTable } from '../output.js';

const idTypeFlag: Flag = {
  value: 'COUNTRY:TYPE:METHOD',
  about: 'an ID that the link accepts, such as NG:BVN:biometric_kyc; repeat the flag for more IDs',
  isList: true,
};

const create: Command = {
  name: 'links create',
  about: 'create a link',
  positionals: [],
  flags: {
    'company-name': { value: 'NAME', about: 'your name, as the end user sees it; required' },
    'data-privacy-policy-url': { value: 'URL', about: 'your privacy policy; required', kind: 'url' },
    'callback-url': { value: 'URL', about: 'the URL that results are posted to', kind: 'url' },
    name: { value: 'NAME', about: "the link's name, which only you see" },
    'id-type': idTypeFlag,
    'logo-url': { value: 'URL', about: 'your logo, a png or svg', kind: 'url' },
    'single-use': { about: 'the link is for one user, and works once' },
    'user-id': { value: 'USER_ID', about: 'the user of a single-use link' },
    'expires-at': { value: 'TIME', about: 'when the link expires, such as 2026-12-31T00:00:00Z' },
  },
  async run(given, context) {
    const link = readNewLink(given);
    const created = await createClient(context).links.create(link, { signal: context.signal });
    if (given.isSet('json')) writeJsonLine(context, created);
    else writeFacts(context, { 'Reference id': created.refId, URL: created.url });
    return exitCodes.done;
  },
};

function readNewLink(given: Arguments): NewLink {
  const companyName = requireText(given, 'company-name', 'NAME');
  const dataPrivacyPolicyUrl = requireText(given, 'data-privacy-policy-url', 'URL');
  const idTypes = readIdTypes(given) as NewLink['idTypes'];
  const optional = {
    name: given.text('name'),
    idTypes,
    logoUrl: given.text('logo-url'),
    isSingleUse: given.isSet('single-use') ? true : undefined,
    userId: given.text('user-id'),
    expiresAt: given.text('expires-at'),
  };
  return {
    companyName,
    dataPrivacyPolicyUrl,
    callbackUrl: given.text('callback-url') ?? null,
    ...withoutUndefined(optional),
  };
}

function requireText(given: Arguments, flag: string, value: string): string {
  const text = given.text(flag);
  if (text === undefined) throw new UsageError(`--${flag} is missing: --${flag} ${value}`);
  return text;
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
    const [refId = ''] = given.positionals;
    const link = await createClient(context).links.get(refId, { signal: context.signal });
    if (given.isSet('json')) writeJsonLine(context, link);
    else writeFacts(context, factsOf(link));
    return exitCodes.done;
  },
};

function factsOf(link: Link): Readonly<Record<string, unknown>> {
  return {
    'Reference id': link.refId,
    State: link.state,
    URL: link.url,
    Name: link.name,
    Company: link.companyName,
    'ID types': link.idTypes.map(writeIdType).join(', '),
    'Single use': link.isSingleUse === null ? null : link.isSingleUse ? 'yes' : 'no',
    'Callback URL': link.callbackUrl,
    'Privacy policy': link.dataPrivacyPolicyUrl,
    Jobs: writeJobs(link),
    Created: link.createdAt,
    Expires: link.expiresAt,
    Disabled: link.disabledAt,
  };
}

function writeIdType({ country, idType, verificationMethod }: IdType): string {
  return `${country}:${idType}:${verificationMethod}`;
}

function writeJobs({ jobs: { total, successful, failed } }: Link): string {
  return `${total} (${successful} succeeded, ${failed} failed)`;
}

const defaultLimit = 100;

const list: Command = {
  name: 'links list',
  about: 'list links, in the order of the service',
  positionals: [],
  flags: {
    limit: {
      value: 'N',
      about: `the largest number of links; default ${defaultLimit}`,
      kind: 'integer',
      min: 1,
      max: 1_000_000,
    },
  },
  async run(given, context) {
    const limit = given.number('limit') ?? defaultLimit;
    const { links, totalCount } = await collect(context, limit);
    if (given.isSet('json')) writeJsonLine(context, links);
    else if (links.length > 0) writeRows(context, links);
    if (links.length === 0) writeLine(context.stderr, 'There are no links');
    if (totalCount > links.length)
      writeLine(context.stderr, `These are the first ${links.length} of ${totalCount} links: see --limit`);
    return exitCodes.done;
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
    return change(given, context, (refId) =>
      createClient(context).links.update(refId, changes as LinkChanges, { signal: context.signal }),
    );
  },
};

const disable: Command = {
  name: 'links disable',
  about: 'disable a link',
  positionals: ['REF'],
  flags: {},
  run: (given, context) =>
    change(given, context, (refId) => createClient(context).links.disable(refId, { signal: context.signal })),
};

type Update = ReturnType<ReturnType<typeof createClient>['links']['disable']>;

async function change(given: Arguments, context: Context, send: (refId: string) => Update) {
  const [refId = ''] = given.positionals;
  const updated = await send(refId);
  if (given.isSet('json')) writeJsonLine(context, updated);
  else {
    const { state, disabledAt, idTypes } = updated;
    const facts = { State: state, 'ID types': idTypes.map(writeIdType).join(', '), Disabled: disabledAt };
    writeFacts(context, { 'Reference id': updated.refId, ...facts });
  }
  return exitCodes.done;
}

export const linkCommands: readonly Command[] = [create, get, list, update, disable];
