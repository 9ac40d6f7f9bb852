// A drawn matrix of what a service can do to a create: "not sent" is never said of a request that arrived, and no second
// create follows one that may have had an effect.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { HostedClient, type HostedClientOptions, isHostedError } from 'hosted-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiKey, newLink, now, partnerId } from '../support/fake-fetch.js';
import { head, refusingOrigin, socketClock } from '../support/faulty-server.js';
import { createWithRandom, randomFrom } from '../support/random.js';

type Cut = (typeof cuts)[number];

/** Where a connection ends, and how. "early": before the request is whole; "late": after it, without a response. */
const cuts = [
  ...['none', 'none', 'none', 'refused', 'early end', 'early reset', 'late end', 'late reset'],
  ...['end in head', 'reset in head', 'end after head', 'reset after head', 'end in body', 'reset in body'],
] as const;

const statuses = [
  ...[200, 200, 201, 202, 204, 206, 301, 304, 307, 308, 400, 401, 401, 403, 404, 407, 408, 409, 413, 421, 421, 425],
  ...[429, 429, 451, 500, 501, 502, 503, 504, 505, 520, 522, 525, 530, 599],
];

const json = { 'content-type': 'application/json' };
const date = (ms: number) => new Date(now + ms).toUTCString();
const headers: readonly Readonly<Record<string, string>>[] = [
  {},
  json,
  { 'content-type': 'text/html' },
  { ...json, connection: 'close' },
  { ...json, 'retry-after': '0' },
  { ...json, 'retry-after': '59' },
  { ...json, 'retry-after': '9999999999' },
  { ...json, 'retry-after': date(10_000) },
  { ...json, date: date(0) },
  // The clock is corrected, and a create that was surely rejected is signed anew.
  { ...json, date: date(600_000) },
  { ...json, date: date(600_000), age: '5' },
  { ...json, 'content-encoding': 'gzip' },
  { ...json, 'content-encoding': 'identity' },
  { ...json, location: '/elsewhere' },
  { ...json, 'www-authenticate': 'Basic realm="a"' },
  { ...json, 'alt-svc': 'h3=":443"' },
];

const bodies = [
  '{"link":"https://links.hosted.test/1","ref_id":"ref-1"}',
  '{"error":"no","code":"2215"}',
  '{"error":"no","code":"2205"}',
  '{"code":"2301"}',
  '<html>',
  '',
];

interface Row {
  readonly cut: Cut;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const random = randomFrom(7);
const draw = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
const rows: readonly Row[] = Array.from({ length: 640 }, () => ({
  cut: draw(cuts),
  status: draw(statuses),
  headers: draw(headers),
  body: draw(bodies),
}));

/** What the server has read of each row: requests of which something arrived, and whole ones. */
const begun = rows.map(() => 0);
const whole = rows.map(() => 0);
const sockets = new Set<Socket>();

const server = createServer((socket) => {
  sockets.add(socket);
  let received = '';
  // Node may send the head and the body of a request in two pieces.
  let counted = false;
  socket.on('error', () => undefined).setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
    const at = Number(/^[A-Z]+ \/row-(\d+)\//.exec(received)?.[1] ?? Number.NaN);
    const row = rows[at];
    if (row === undefined) return;
    if (!counted) begun[at] = (begun[at] ?? 0) + 1;
    counted = true;
    if (row.cut.startsWith('early')) {
      cut(socket, row.cut);
      return;
    }
    const end = received.indexOf('\r\n\r\n');
    const length = Number(/^content-length: *(\d+)/im.exec(received)?.[1]);
    if (end < 0 || received.length < end + 4 + length) return;
    received = '';
    counted = false;
    whole[at] = (whole[at] ?? 0) + 1;
    respond(socket, row);
  });
});

function respond(socket: Socket, { cut: how, status, headers: given, body }: Row): void {
  const length = status === 204 || status === 304 ? {} : { 'content-length': Buffer.byteLength(body) };
  const text = head(status, { ...given, ...length });
  if (how.startsWith('late')) socket.pause();
  else if (how.endsWith('in head')) socket.write(text.slice(0, 14));
  else if (how.endsWith('after head')) socket.write(text);
  else if (how.endsWith('in body')) socket.write(text + body.slice(0, body.length / 2));
  else socket.write(text + ('content-length' in length ? body : ''));
  if (how !== 'none' || given.connection === 'close') cut(socket, how);
}

function cut(socket: Socket, how: Cut): void {
  if (how.includes('reset')) socket.resetAndDestroy();
  else socket.end();
}

let origin = '';
let refusing = '';
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  refusing = await refusingOrigin();
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** Whether a whole response says that the service did not act: the code of a wrong signature counts before the status. */
const isRejection = ({ status, body }: Row) =>
  status >= 400 && status < 500 && ((status !== 408 && status !== 425) || body.includes('2205'));

test.concurrent.each(rows.map((row, at) => ({ ...row, at, row })))(
  'create $at: $status, cut: $cut',
  async ({ at, row }) => {
    const isRefused = row.cut === 'refused';
    const options = {
      partnerId,
      apiKey,
      baseUrls: { sandbox: `${isRefused ? refusing : origin}/row-${at}` },
      clock: socketClock([30_000, 120_000]),
    } satisfies Partial<HostedClientOptions>;
    const client = createWithRandom(randomFrom(1), () => new HostedClient(options as HostedClientOptions));

    const error = await client.links.create(newLink).then(
      () => null,
      (caught: unknown) => caught,
    );

    const seen = { begun: begun[at] ?? 0, whole: whole[at] ?? 0 };
    if (error === null) {
      expect(seen).toEqual({ begun: 1, whole: 1 });
      return;
    }
    if (!isHostedError(error)) throw error;
    if (isRefused) expect(error).toMatchObject({ outcome: 'not_sent', attempts: 3 });
    if (error.outcome === 'not_sent') expect(seen).toEqual({ begun: 0, whole: 0 });
    // A request may be written to a connection that the server is closing.
    else expect(seen.begun).toBeLessThanOrEqual(error.attempts);
    if (!error.mayHaveActed) expect(seen.whole === 0 || isRejection(row)).toBe(true);
    if (error.attempts > 1 && !isRefused) expect(isRejection(row)).toBe(true);
    // Only these say that the same link may be created again: too many requests, and a signature at a wrong time.
    if (error.attempts > 1 && !isRefused)
      expect([401, 403, 429].includes(row.status) || row.body.includes('2205')).toBe(true);
  },
);
