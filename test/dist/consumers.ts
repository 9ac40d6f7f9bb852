/** The packed package in other people's projects: every Node, compiler, bundler and test runner. */

import { bundlerChecks } from './bundlers.ts';
import { lookAt } from './check.ts';
import { companyChecks, makeCompany } from './company.ts';
import { compilerChecks } from './compilers.ts';
import { makeConsumer } from './consumer.ts';
import { linterChecks } from './linters.ts';
import { nodeChecks } from './node-versions.ts';
import { censusCheck, pageChecks } from './page-checks.ts';
import { installTools, packTarball } from './project.ts';
import { readmeChecks } from './readme.ts';
import { recipeChecks } from './recipes.ts';
import { runnerChecks } from './runners.ts';

await installTools();
const tarball = await packTarball();
const consumer = await makeConsumer(tarball);
const company = await makeCompany(tarball);

const { passed, failed } = await lookAt([
  ...readmeChecks(tarball),
  ...pageChecks(tarball),
  ...recipeChecks(tarball),
  ...nodeChecks(consumer),
  ...compilerChecks(consumer),
  ...bundlerChecks(consumer, company),
  ...companyChecks(company),
  ...runnerChecks(consumer, tarball),
  ...linterChecks(tarball),
  censusCheck,
]);

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
