/** The tables of fields, held against the pages that describe the protocol, the fixtures and the mock. */

import { readFileSync } from 'node:fs';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import {
  identityFields,
  imageLinksFields,
  partnerParamsFields,
  resultFields,
  statusFields,
} from '../../src/jobs/fields.js';
import { linkFields, sentFields } from '../../src/links/fields.js';
import { type Fields, propertiesOf } from '../../src/protocol/fields.js';
import {
  jobInSampleSpelling,
  jobInTableSpelling,
  linkInSampleSpelling,
  linkInTableSpelling,
} from '../fixtures/records.js';
import { description } from '../support/api-description.js';
import { partnerOf, stillClock, wireJob } from '../testing/partner.js';

const protocol = readFileSync('docs/protocol.md', 'utf8');
const moving = readFileSync('docs/moving.md', 'utf8');

const namesOf = (...tables: readonly Fields[]) => [...propertiesOf(...tables).keys()];
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** The section of docs/protocol.md with this heading. */
const section = (heading: string) => protocol.split(/^#{2,4} /m).find((text) => text.startsWith(heading)) ?? '';
/** The names in the first column of its tables. */
const rowsOf = (heading: string) =>
  [...section(heading).matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => quoted(cell));

const missingIn = (names: readonly string[], known: readonly string[]) => names.filter((name) => !known.includes(name));

const results = namesOf(resultFields, identityFields, partnerParamsFields, imageLinksFields);
const every = [...namesOf(linkFields, statusFields), ...results];
const isWritten = (name: string, records: readonly object[]) => JSON.stringify(records).includes(`"${name}":`);
const signing = ['partner_id', 'timestamp', 'sec_key', 'signature'];

test('docs/protocol.md has a row for each field of the tables', () => {
  expect(missingIn(namesOf(linkFields), quoted(section('2.2 ')))).toEqual([]);
  expect(missingIn([...namesOf(statusFields), ...results], quoted(section('2.4 ')))).toEqual([]);
  expect(
    missingIn(
      sentFields.map(({ wire }) => wire),
      rowsOf('4.1 '),
    ),
  ).toEqual([]);
});

test('the tables have a row for each field of docs/protocol.md', () => {
  expect(missingIn(rowsOf('2.2 '), namesOf(linkFields))).toEqual([]);
  expect(missingIn(rowsOf('2.4 '), [...namesOf(statusFields, resultFields), ...signing, 'Source'])).toEqual([]);
  expect(
    missingIn(
      rowsOf('4.1 '),
      sentFields.map(({ wire }) => wire),
    ),
  ).toEqual([]);
});

test.each<[string, readonly string[], readonly string[]]>([
  ['CreateLinkRequest', sentFields.map(({ wire }) => wire), signing],
  ['Link', namesOf(linkFields).filter((name) => name !== 'link'), []],
  ['JobStatus', namesOf(statusFields), signing],
  ['JobResult', namesOf(resultFields), ['Source']],
  ['PartnerParams', namesOf(partnerParamsFields), []],
  ['ImageLinks', namesOf(imageLinksFields), ['error']],
])('%s of docs/openapi.yaml has the fields of the tables', (schema, names, others) => {
  const described = Object.keys(description.components.schemas[schema].properties);

  expect({
    schema,
    missing: missingIn(names, described),
    unknown: missingIn(described, [...names, ...others]),
  }).toEqual({
    ...{ schema, missing: [], unknown: [] },
  });
});

test('a history entry of docs/openapi.yaml has the fields of an ID', () => {
  const [, own] = description.components.schemas.HistoryEntry.allOf;

  expect(Object.keys(own.properties).sort()).toEqual(namesOf(identityFields).sort());
});

test('docs/moving.md names the property of each field', () => {
  const rows = [...moving.matchAll(/^\| (`.+) \| (`.+) \|$/gm)].map(([, wire = '', here = '']) => [
    quoted(wire),
    quoted(here),
  ]);
  const isNamed = (field: string, name: string) =>
    rows.some(
      ([wire = [], here = []]) =>
        wire.some((each) => each.split('.').at(-1) === field) &&
        here.some((each) => each.split('.').includes(name) || each === `${name}s`),
    );
  const tables = [linkFields, statusFields, resultFields, identityFields, partnerParamsFields, imageLinksFields];
  const fields = tables
    .flatMap((table: Fields) => Object.entries(table))
    .flatMap(([name, { wire }]) => [wire].flat().map((field) => [field, name] as const))
    .filter(([, name]) => name !== 'partnerParams');

  const inStatus = ['user_id', 'job_id', 'image_links'];
  expect(fields.filter(([field, name]) => !isNamed(field, name) && !inStatus.includes(field))).toEqual([]);
});

test('both spellings of the fixtures have every field, but for those of which one is enough', () => {
  const others = ['link', 'link_id', 'user_id', 'user_ids', 'job_id', 'disabled_at'];

  for (const records of [
    [linkInTableSpelling, jobInTableSpelling],
    [linkInSampleSpelling, jobInSampleSpelling],
  ]) {
    expect(every.filter((name) => !isWritten(name, records) && !others.includes(name))).toEqual([]);
  }
});

test('the mock writes every field, in one spelling or another', async () => {
  const service = createMockService({ spelling: 'random', clock: stillClock });
  const partner = partnerOf(service);
  const { body: created } = await partner.create();
  const job = service.sandbox.jobs.start({ linkRefId: created.ref_id });
  service.sandbox.jobs.report(job, { resultCode: '1012', resultText: 'Read', resultType: 'ID Verification' });
  service.sandbox.jobs.complete(job, 'approved');

  const bodies: object[] = [created];
  for (let round = 0; round < 30; round++) {
    const status = await partner.status({ ...wireJob(job), history: true, image_links: true });
    bodies.push(status.body, (await partner.get(created.ref_id)).body);
  }

  expect(every.filter((name) => !isWritten(name, bodies))).toEqual([]);
});
