// A step of the run in upgrade.ts: changes the tables to those of its build.

import process from 'node:process';
import { migrateTracking } from 'hosted-client/tracking';

const { from, to } = await migrateTracking({ connectionString: process.env.DATABASE_URL ?? '', apply: true });
process.stdout.write(`tables ${from} → ${to}\n`);
