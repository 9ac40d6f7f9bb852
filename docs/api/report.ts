/**
 * The public surface as text: what the built declarations of the entries offer, rolled up into
 * one file each. `npm run api` writes these files; `npm run api:check` fails where they and the
 * declarations differ, so that a change of the surface is a diff in review.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { argv, stderr, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig, ExtractorLogLevel, type IConfigFile } from '@microsoft/api-extractor';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Entry {
  /** What users import. */
  readonly specifier: string;
  readonly declarations: string;
  /** From the top of the project. */
  readonly report: string;
  /** Whether to show the shape of what it names and does not export, or leave that to another entry's report. */
  readonly showsAll: boolean;
}

const entries: readonly Entry[] = [
  {
    specifier: 'hosted-client',
    declarations: 'dist/index.d.ts',
    report: 'docs/api/hosted-client.api.md',
    showsAll: true,
  },
  {
    specifier: 'hosted-client/node',
    declarations: 'dist/node/index.d.ts',
    report: 'docs/api/hosted-client-node.api.md',
    showsAll: true,
  },
  {
    specifier: 'hosted-client/opentelemetry',
    declarations: 'dist/opentelemetry/index.d.ts',
    report: 'docs/api/hosted-client-opentelemetry.api.md',
    showsAll: false,
  },
  {
    specifier: 'hosted-client/sandbox',
    declarations: 'dist/sandbox/index.d.ts',
    report: 'docs/api/hosted-client-sandbox.api.md',
    showsAll: false,
  },
  {
    specifier: 'hosted-client/testing',
    declarations: 'dist/testing/index.d.ts',
    report: 'docs/api/hosted-client-testing.api.md',
    showsAll: false,
  },
  {
    specifier: 'hosted-client/testing/msw',
    declarations: 'dist/testing/msw.d.ts',
    report: 'docs/api/hosted-client-testing-msw.api.md',
    showsAll: false,
  },
  {
    specifier: 'hosted-client/tracking',
    declarations: 'dist/tracking/index.d.ts',
    report: 'docs/api/hosted-client-tracking.api.md',
    showsAll: false,
  },
];

const isCheck = argv.includes('--check');
const work = mkdtempSync(join(tmpdir(), 'api-report-'));
try {
  const reports = entries.map((entry) => ({ ...entry, text: reportOf(entry) }));
  const problems = [...hiddenShapes(reports.map(({ text }) => text)), ...(isCheck ? reports.flatMap(differences) : [])];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  if (!isCheck) for (const { report, text } of reports) writeFileSync(join(root, report), text);
  for (const { report } of reports) stdout.write(`${report}: ${isCheck ? 'as declared' : 'written'}\n`);
} catch (error) {
  stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true });
}

/** The report of one entry, without what moves when lines are added above it. */
function reportOf({ specifier, declarations, showsAll }: Entry): string {
  const file = `${specifier.replaceAll('/', '-')}.api.md`;
  const configObject: IConfigFile = {
    projectFolder: root,
    mainEntryPointFilePath: join(root, declarations),
    newlineKind: 'lf',
    compiler: { tsconfigFilePath: join(root, 'src/tsconfig.json') },
    apiReport: {
      enabled: true,
      reportFileName: file,
      reportFolder: work,
      reportTempFolder: join(work, 'made'),
      includeForgottenExports: showsAll,
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    messages: {
      compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      extractorMessageReporting: {
        default: { logLevel: ExtractorLogLevel.None },
        'ae-forgotten-export': { logLevel: ExtractorLogLevel.Warning, addToApiReportFile: true },
      },
      // Comments are judged where the reference is made from them.
      tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
    },
  };
  const config = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  });
  const errors: string[] = [];
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      if (message.logLevel === ExtractorLogLevel.Error) errors.push(message.formatMessageWithLocation(root));
      message.handled = true;
    },
  });
  if (errors.length > 0) throw new Error(`Cannot report on "${specifier}":\n${errors.join('\n')}`);
  return readFileSync(join(work, 'made', file), 'utf8')
    .replace('API Report File for "hosted-client"', `API Report File for "${specifier}"`)
    .replace(/^(\/\/ \S+?):\d+:\d+ - /gm, '$1 - ');
}

/** What the reports name as not exported must be shown by one of them, or a change of it would not be seen. */
function hiddenShapes(texts: readonly string[]): readonly string[] {
  const all = texts.join('\n');
  const shown = namesIn(all, /^(?:export )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/gm);
  const named = namesIn(all, /\(ae-forgotten-export\) The symbol "(\w+)"/g);
  return [...named].filter((name) => !shown.has(name)).map((name) => `No report shows "${name}": set "showsAll"`);
}

function namesIn(text: string, pattern: RegExp): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(pattern), ([, name = '']) => name));
}

/** How a report differs from the one that is kept, as lines that went and lines that came. */
function differences({ report, text }: { readonly report: string; readonly text: string }): readonly string[] {
  const kept = keptAt(report);
  if (kept === text) return [];
  const before = kept.split('\n');
  const now = text.split('\n');
  return [
    `${report} is not what the declarations say: run "npm run api", and commit the change if it is meant`,
    ...before.filter((line) => !now.includes(line)).map((line) => `  - ${line}`),
    ...now.filter((line) => !before.includes(line)).map((line) => `  + ${line}`),
  ];
}

function keptAt(report: string): string {
  try {
    return readFileSync(join(root, report), 'utf8');
  } catch {
    return '';
  }
}
