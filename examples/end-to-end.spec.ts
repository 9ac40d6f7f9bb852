/** An end-to-end test with Playwright: an end user opens a link, and is verified. */

import { expect, test } from '@playwright/test';
import { HostedClient } from 'hosted-client';
import { startSandbox } from 'hosted-client/sandbox';

test('an end user with a passport is verified', async ({ page }) => {
  const sandbox = await startSandbox({ port: 0 });
  const { url } = await new HostedClient(sandbox.clientOptions()).links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://example.test/privacy',
    callbackUrl: null,
    idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
  });

  await page.goto(url);
  await page.getByRole('radio', { name: 'Passport' }).check();
  await page.getByLabel('I agree').check();
  await page.getByLabel('How the verification ends').selectOption('approved');
  await page.getByRole('button', { name: 'Start the verification' }).click();
  await expect(page.getByText('Your identity was verified')).toBeVisible();
  await sandbox.stop();
});
