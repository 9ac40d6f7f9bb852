/**
 * The service of a run: it keeps of each job only when it ends, so that a run may have as many as it likes. To requests
 * about anything else, such as a link, the mock service responds.
 */

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createMockService } from 'hosted-client/testing';
import { numberOf, stateOf } from './jobs.ts';

/** What is wrong with responses. */
export type Fault = 'server errors' | 'broken connections' | 'a wrong key' | 'signatures of another key' | 'not found';

export type Service = Awaited<ReturnType<typeof startService>>;

/**
 * Starts the service on this machine.
 *
 * @param failing - The share of responses that are broken.
 */
export async function startService(jobCount: number, random: () => number, failing = 0, delayMs = 0) {
  const mock = createMockService();
  const { partnerId, apiKey = '' } = mock.sandbox.clientOptions;
  /** When each job ends, in ms since 1970. */
  const endsAt = new Float64Array(jobCount).fill(Number.POSITIVE_INFINITY);
  /** When its end was first told to a client. */
  const foundAt = new Float64Array(jobCount);
  const startedAt = performance.now();
  let lastSignedAt = 0;
  let linkRefId: string | null = null;
  const state = {
    ...{ partnerId, apiKey, origin: '', endsAt, foundAt, mock },
    /** What is wrong with all responses now, and what with the responses about some jobs for ever. */
    ...{ fault: null as Fault | null, faultOf: (_: number): Fault | null => null },
    ...{ requests: 0, failed: 0, stillPending: 0, asked: new Set<string>() },
    /** Requests by the second in which they came, since the service started. */
    bySecond: [] as number[],
    writeCallback,
    fetch: ask,
    /** Adds a link, which the callbacks from now on name. */
    addLink(): string {
      mock.sandbox.links.seed(1);
      linkRefId = String((mock.sandbox.links.all().at(-1) as { readonly ref_id: unknown }).ref_id);
      return linkRefId;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };

  function sign(record: object, at: string, key = apiKey): string {
    const signature = createHmac('sha256', key).update(`${at}${partnerId}sid_request`).digest('base64');
    return JSON.stringify({ ...record, timestamp: at, signature });
  }

  function namesOf(jobId: string, userId: string) {
    return {
      PartnerParams: { user_id: userId, job_id: jobId, job_type: '1', ...(linkRefId && { link_id: linkRefId }) },
    };
  }

  /** A callback about a job that has ended. Each has a signed time of its own, unless one is given. */
  function writeCallback(job: { userId: string; jobId: string }, signedAt?: string): string {
    lastSignedAt = Math.max(lastSignedAt + 1, Date.now());
    const kind = { ResultCode: '0810', ResultText: 'Done', IsFinalResult: 'true', HostedJobID: job.jobId };
    const names = namesOf(job.jobId, job.userId);
    return sign({ ...kind, ...names }, signedAt ?? new Date(lastSignedAt).toISOString());
  }

  function count(): void {
    const second = Math.floor((performance.now() - startedAt) / 1_000);
    state.requests += 1;
    state.bySecond[second] = (state.bySecond[second] ?? 0) + 1;
  }

  function drawFault(n: number): Fault | 'a page' | null {
    if (random() >= failing) return state.faultOf(n) ?? state.fault;
    state.failed += 1;
    return (
      (['broken connections', 'broken connections', 'server errors', 'a page'] as const)[Math.floor(random() * 4)] ??
      null
    );
  }

  /** Responds about a job; null breaks the connection. */
  function respond(n: number, ids: { userId: string; jobId: string }): { status: number; body: string } | null {
    const fault = drawFault(n);
    // No request was signed for the same text.
    const at = new Date(Date.now() - 1_000).toISOString();
    if (fault === 'broken connections') return null;
    if (fault === 'server errors') return { status: 503, body: '{}' };
    if (fault === 'a wrong key') return { status: 401, body: '{"error":"Signature did not match","code":"2305"}' };
    if (fault === 'not found') return { status: 404, body: '{"error":"No job","code":"2304"}' };
    if (fault === 'a page') return { status: 200, body: '<html>' };
    const key = fault === 'signatures of another key' ? 'another key' : apiKey;
    if (Date.now() < (endsAt[n] ?? 0)) {
      state.stillPending += 1;
      return { status: 200, body: sign({ job_complete: false }, at, key) };
    }
    if (fault === null) foundAt[n] ||= Date.now();
    const result = {
      ResultCode: '0810',
      ResultText: 'Done',
      HostedJobID: ids.jobId,
      ...namesOf(ids.jobId, ids.userId),
    };
    const ended = {
      job_complete: true,
      job_success: stateOf(n) === 'succeeded',
      code: '2302',
      result,
      history: [result],
    };
    return { status: 200, body: sign(ended, at, key) };
  }

  /** The service for clients of this process. */
  async function ask(
    url: string,
    init: { method: string; headers: Record<string, string>; body: string },
  ): Promise<Response> {
    count();
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const { user_id = '', job_id = '' } = JSON.parse(init.body) as { user_id?: string; job_id?: string };
    const n = numberOf(job_id);
    if (Number.isNaN(n)) {
      state.asked.add(job_id);
      return mock.fetch(new Request(url, init));
    }
    const response = respond(n, { userId: user_id, jobId: job_id });
    if (response === null) throw new TypeError('fetch failed');
    return new Response(response.body, { status: response.status, headers: { 'content-type': 'application/json' } });
  }

  async function serve(incoming: IncomingMessage): Promise<Response> {
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const init = { method: incoming.method ?? 'GET', headers, body: await text(incoming) };
    return ask(`${mock.sandbox.baseUrl}${incoming.url}`, init);
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming)
      .then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
      })
      // Also a client may be killed in the middle of its request.
      .catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}
