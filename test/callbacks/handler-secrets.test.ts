// What no response and no error of handler() shows.

import { inspect } from 'node:util';
import type { CallbackEvent, JobRef, ReplayGuard } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, type Reply, sign } from '../support/fake-fetch.js';
import { createPlanter, everything } from '../support/showings.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { away, post } from './deliveries.js';
import { confirmedListener, guardWith, listener } from './handled-callback.js';
import { nowText } from './posted-callback.js';

type Handler = (request: Request) => Promise<Response>;

failOnStrayRejections();

/** A client with something planted wherever a callback or a setting takes it, and all that it and its answers told. */
function plantedHandling(reply: (plant: (what: string) => string, job: JobRef) => Reply) {
  const { planted, plant } = createPlanter();
  const told: unknown[] = [];
  const write = (message: string, details?: object) => {
    told.push(message, details);
  };
  const partner = plant('partner');
  const key = plant('key');
  const job = { userId: plant('user'), jobId: plant('job') };
  const { client, sent } = clientOf(reply(plant, job), {
    partnerId: partner,
    apiKey: key,
    baseUrls: { sandbox: `https://sandbox.hosted.test/${plant('path')}` },
    maxRetries: 0,
    logger: { debug: write, info: write, warn: write, error: write },
    onEvent: (event) => {
      told.push(event);
    },
  });
  const signature = (timestamp: string, signingKey = key) => {
    const made = sign(timestamp, signingKey, partner);
    planted.push(made);
    return made;
  };
  const members = () => ({
    ResultCode: plant('code'),
    ResultText: plant('text'),
    ResultType: plant('type'),
    HostedJobID: plant('hosted'),
    Actions: { [plant('action')]: plant('outcome') },
    PartnerParams: {
      user_id: job.userId,
      job_id: job.jobId,
      link_id: plant('link'),
      [plant('member')]: plant('value'),
    },
    FullName: plant('name'),
    DOB: plant('birth'),
    IDNumber: plant('number'),
    IDType: plant('document'),
    Country: plant('country'),
    ExpirationDate: plant('expiry'),
    Photo: plant('photo'),
    [plant('member')]: plant('value'),
  });
  const bodyOf = (changes: object = {}, { timestamp = nowText, signingKey = key } = {}) =>
    JSON.stringify({ ...members(), ...changes, timestamp, signature: signature(timestamp, signingKey) });
  /** Delivers, and looks for what was planted in all that was told and answered. */
  const deliver = async (handler: Handler, body: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await handler(post({ body, headers }));
    const answer = [await response.text(), inspect([...response.headers]), response.statusText];
    const requests = sent.flatMap(({ body: asked }) => [asked.sec_key, asked.signature]).filter((each) => each);
    const all = [...answer, ...told.flatMap((each) => [inspect(each, everything), JSON.stringify(each) ?? ''])].join(
      '\n',
    );
    expect([...planted, ...requests.map(String)].filter((value) => all.includes(value))).toEqual([]);
    return response.status;
  };
  return { client, plant, bodyOf, deliver, told };
}

test('callbacks.handler() reports nothing of a callback, whatever becomes of it', async () => {
  const { client, plant, bodyOf, deliver, told } = plantedHandling(() => ({}));
  const to = client.callbacks.handler({ confirm: false, onEvent: listener(), maxBytes: 5_000 });
  const body = bodyOf();
  const later = (milliseconds: number) => ({ timestamp: new Date(now + milliseconds).toISOString() });

  const statuses = [
    await deliver(to, body),
    await deliver(to, body),
    await deliver(to, bodyOf()),
    await deliver(to, bodyOf({}, { signingKey: plant('theirs') })),
    await deliver(to, bodyOf({ signature: plant('signature') })),
    await deliver(to, bodyOf({}, { timestamp: '2018-03-13T21:04:11.193Z' })),
    await deliver(to, bodyOf({ PartnerParams: { [plant('member')]: plant('value') } }, later(1))),
    await deliver(to, bodyOf({ ResultCode: { [plant('member')]: plant('value') } }, later(2))),
    await deliver(to, body.slice(0, -1)),
    await deliver(to, bodyOf({ Photo: 'A'.repeat(5_000) }, later(3))),
    await deliver(to, body, { 'content-length': '5001', authorization: plant('token') }),
  ];

  expect(statuses).toEqual([200, 200, 401, 401, 401, 401, 400, 400, 400, 413, 413]);
  expect(told.length).toBeGreaterThan(0);
});

test('callbacks.handler() reports nothing of what onEvent throws', async () => {
  const { client, plant, bodyOf, deliver, told } = plantedHandling(() => ({}));
  const talkative = (event: CallbackEvent) => {
    const cause = Object.assign(new Error(`${plant('cause')} ${event.userId}`), { event });
    return Object.assign(new Error(`${plant('message')} ${event.entry.identity?.fullName}`, { cause }), {
      name: plant('name'),
      [plant('member')]: event,
    });
  };
  const rejecting = client.callbacks.handler({ confirm: false, onEvent: (event) => Promise.reject(talkative(event)) });
  const throwing = client.callbacks.handler({
    confirm: false,
    onEvent: (event) => {
      throw talkative(event);
    },
  });

  const body = bodyOf();
  const statuses = [await deliver(rejecting, body), await deliver(throwing, body)];

  expect(statuses).toEqual([500, 500]);
  expect(told.filter((each) => typeof each === 'string' && each.startsWith('hosted-client: '))).toHaveLength(2);
});

test('callbacks.handler() reports nothing of what its guard throws', async () => {
  const { client, plant, bodyOf, deliver } = plantedHandling(() => ({}));
  const talkative = async (...given: unknown[]) => {
    throw Object.assign(new Error(`${plant('message')} ${given.join(' ')}`), { [plant('member')]: plant('value') });
  };
  const handlerOf = (replayGuard: ReplayGuard, onEvent: () => void | Promise<void> = () => undefined) =>
    client.callbacks.handler({ confirm: false, replayGuard, onEvent });
  const body = bodyOf();

  const statuses = [
    await deliver(handlerOf(guardWith({ begin: talkative })), body),
    await deliver(handlerOf(guardWith({ commit: talkative })), body),
    await deliver(handlerOf(guardWith({ forget: talkative }), away), body),
  ];

  expect(statuses).toEqual([503, 200, 500]);
});

test('callbacks.handler() reports nothing of what confirming finds', async () => {
  const { client, bodyOf, deliver, told } = plantedHandling((plant, job) => [
    () => Promise.reject(Object.assign(new TypeError(plant('message')), { cause: { code: plant('code') } })),
    Response.json({ error: plant('error'), code: '2304', [plant('member')]: plant('value') }, { status: 400 }),
    Response.json({ user_id: plant('user'), job_complete: true, FullName: plant('name') }),
    new Response(`<p>${job.userId} ${plant('page')}</p>`),
  ]);
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });
  const body = bodyOf();

  for (let times = 0; times < 4; times++) expect(await deliver(to, body)).toBe(503);

  expect(onEvent).not.toHaveBeenCalled();
  expect(told.length).toBeGreaterThan(8);
});
