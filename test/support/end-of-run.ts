// Before the first file of tests: the folder of what they share. After the last: ends what one of them started.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { closeShared } from '../tracking/databases.ts';
import { variable } from './shared-by-a-run.ts';

export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'shared-'));
  process.env[variable] = folder;
  return () => {
    try {
      closeShared(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}
