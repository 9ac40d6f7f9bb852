// What an editor shows of the public names: the text over a name, and the values that it completes.

import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const file = `${root}test/hovered.ts`;
const program = `
import { HostedClient, type JobStatus, type SucceededJob } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
declare const client: HostedClient;
declare const status: JobStatus;
declare const succeeded: SucceededJob;
status.state;
status.complete;
status.success;
succeeded.result;
void createMockService;
const link = await client.links.get('ref-1');
link.idTypes[0]?.idType;
await client.links.create({
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.test/privacy',
  idTypes: [{ country: 'NG', idType: '', verificationMethod: '' }],
});
`;

const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
const editor = ts.createLanguageService({
  getCompilationSettings: () => options,
  getCurrentDirectory: () => root,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  getScriptFileNames: () => [file],
  getScriptVersion: () => '1',
  getScriptSnapshot(path) {
    const text = path === file ? program : ts.sys.readFile(path);
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
  },
  fileExists: (path) => path === file || ts.sys.fileExists(path),
  readFile: ts.sys.readFile,
});

/** The place right behind the first `text` of the program. */
function behind(text: string): number {
  return program.indexOf(text) + text.length;
}

/** What an editor shows over the name that ends with this text. */
function hoverOver(text: string): { readonly form: string; readonly words: string } {
  const shown = editor.getQuickInfoAtPosition(file, behind(text) - 1);
  return {
    form: ts.displayPartsToString(shown?.displayParts),
    words: ts.displayPartsToString(shown?.documentation).replaceAll('\n', ' '),
  };
}

test.each([
  [
    'status.state',
    "The verdict, and all that you need to decide by: `'pending'` until there is one, then `'succeeded'` (the person was verified) or `'failed'` (the person was not verified, which is a result and not an error). It depends only on `job_complete` and `job_success` (§3), never on a result code. A later status may have another one.",
  ],
  ['status.complete', 'Whether there is a final status.'],
  [
    'status.success',
    'The verdict: whether the user was enrolled or authenticated. It is false while the job is pending.',
  ],
  [
    'succeeded.result',
    "The job's result. Null if the service sent none, an empty one, or one that is no object; a string is then the `message`. Even a succeeded job may have none.",
  ],
])('the hover of %s says the same for every kind of status', { timeout: 60_000 }, (name, words) => {
  expect(hoverOver(name).words).toBe(words);
});

test('the hover of createMockService shows the form without Ed25519 first', { timeout: 60_000 }, () => {
  const { form, words } = hoverOver('void createMockService');

  expect(form.replace(/\s+/g, ' ')).toContain(
    `function createMockService(options?: MockServiceOptions & { scheme?: "hmac-sha256"; }): MockService (+2 overloads)`,
  );
  expect(words).toMatch(/^Creates a complete service for tests, without a network\./);
});

test('the hover of idType says what it is, and who has the list', { timeout: 60_000 }, () => {
  expect(hoverOver('link.idTypes[0]?.idType').words).toBe(
    'The kind of ID, in the spelling of the service, whose documents list the kinds of each country. This package knows a few examples only. The empty string means "others".',
  );
});

test.each([
  ["idType: '", ['BVN', 'DRIVERS_LICENSE', 'PASSPORT']],
  ["verificationMethod: '", ['biometric_kyc', 'doc_verification', 'enhanced_document_verification', 'enhanced_kyc']],
])('an editor completes %s', { timeout: 60_000 }, (text, values) => {
  const found = editor.getCompletionsAtPosition(file, behind(text), {})?.entries ?? [];

  expect(found.map(({ name }) => name).toSorted()).toEqual(values);
});
