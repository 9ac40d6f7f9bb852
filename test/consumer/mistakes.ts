/**
 * Thirty mistakes that people make, each on the line below its name. `test/slow/refused-types.test.ts` compiles
 * this file and holds what the compiler says of each; two of them no type can refuse.
 */

import process from 'node:process';
import express from 'express';
import { type HostedClient as Client, HostedClient, hmacSha256, isHostedError, type JobStatus } from 'hosted-client';

declare const client: Client;
declare const status: JobStatus;
declare const error: unknown;
declare const job: { userId: string; jobId: string };
declare const parsed: object;
declare const isProduction: boolean;
const signer = hmacSha256({ apiKey: 'key' });
const base = { partnerId: '085', baseUrls: { sandbox: 'https://sandbox.hosted.test' } };
const link = { companyName: 'Example Ltd', dataPrivacyPolicyUrl: 'https://partner.test/privacy', callbackUrl: null };

// 1 a key and a signer
new HostedClient({ ...base, apiKey: 'key', signer });
// 2 neither a key nor a signer
new HostedClient({ ...base });
// 3 production without its URL
new HostedClient({ ...base, apiKey: 'key', environment: 'production' });
// 4 the URL of production, and the environment left out
new HostedClient({ partnerId: '085', apiKey: 'key', baseUrls: { production: 'https://hosted.test' } });
// 5 an environment that is not known until the program runs, with the URL of one
new HostedClient({ ...base, apiKey: 'key', environment: isProduction ? 'production' : 'sandbox' });
// 6 no URL
new HostedClient({ partnerId: '085', apiKey: 'key', baseUrls: {} });
// 7 a partner id that lost its zero, as a number
new HostedClient({ ...base, partnerId: 85, apiKey: 'key' });
// 8 a partner id that lost its zero, as a string: no type can tell
new HostedClient({ ...base, partnerId: '85', apiKey: 'key' });
// 9 another spelling of an environment
new HostedClient({ ...base, apiKey: 'key', environment: 'live' });
// 10 a misspelt option
new HostedClient({ ...base, apikey: 'key' });
// 11 the options of another client
new HostedClient({ ...base, apiKey: 'key', timeout: 5_000 });
// 12 an update of nothing
void client.links.update('ref-1', {});
// 13 a link in place of its id
void client.links.get({ refId: 'ref-1' });
// 14 a link without the company's name
void client.links.create({ dataPrivacyPolicyUrl: 'https://partner.test/privacy', callbackUrl: null });
// 15 a method that the service does not know
void client.links.create({ ...link, idTypes: [{ country: 'NG', idType: 'BVN', verificationMethod: 'basic_kyc' }] });
// 16 an expiry as a number
void client.links.create({ ...link, expiresAt: Date.now() + 3_600_000 });
// 17 no callback URL, neither of the link nor of the client: no type can tell
void client.links.create({ companyName: 'Example Ltd', dataPrivacyPolicyUrl: 'https://partner.test/privacy' });
// 18 a list without a limit
void client.links.list().toArray();
// 19 a promise that is not awaited
void client.links.get('ref-1').refId;
// 20 two ids in place of a job
void client.jobs.status(job.userId, job.jobId);
// 21 a state that there is not
if (status.state === 'completed') console.log('done');
// 22 a callback that was parsed
void client.callbacks.receive(parsed);
// 23 the result of a callback, whose body is not signed
client.callbacks.handler({ onEvent: (event) => console.log(event.resultCode) });
// 24 a callback handled as it came
client.callbacks.handler({ confirm: false, onEvent: () => undefined });
// 25 a code of an error that there is not
if (isHostedError(error) && error.code === 'unauthorized') console.log('key');
// 26 a handler for web-standard requests, given to Express
express().post('/callbacks', client.callbacks.handler({ onEvent: () => undefined }));
// 27 a variable of the environment, which may not be set, as a URL
new HostedClient({ partnerId: '085', apiKey: 'key', baseUrls: { sandbox: process.env.SANDBOX_URL } });
// 28 no URLs at all
new HostedClient({ partnerId: '085', apiKey: 'key' });
// 29 a variable of the environment, which may not be set, as a key
new HostedClient({ ...base, apiKey: process.env.API_KEY });
// 30 no URLs at all, in production
new HostedClient({ partnerId: '085', apiKey: 'key', environment: 'production' });
