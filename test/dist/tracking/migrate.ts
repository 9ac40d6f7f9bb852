// A step of a run: changes the tables to those of its build.

import process from 'node:process';
import { migrateTracking } from 'hosted-client/tracking';

await migrateTracking({ connectionString: process.env.DATABASE_URL ?? '', apply: true });
