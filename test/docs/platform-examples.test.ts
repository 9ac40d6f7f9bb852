/** The examples that plug the client into what surrounds it: a proxy, an authority of the service's own, OpenTelemetry. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { metrics, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { createMockService } from 'hosted-client/testing';
import { beforeEach, expect, test, vi } from 'vitest';
import { createAuthority, createServerCertificate } from '../support/certificates.js';

const service = createMockService();
const { sandbox } = service;
const printed: string[] = [];

beforeEach(() => {
  service.reset();
  vi.stubEnv('HOSTED_PARTNER_ID', sandbox.clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', sandbox.clientOptions.apiKey ?? '');
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', sandbox.baseUrl);
  printed.length = 0;
  vi.spyOn(console, 'log').mockImplementation((text: string) => {
    printed.push(text);
  });
});

test('the proxy example reaches the service through the proxy alone', async () => {
  const target = await listening(
    createServer(async (request, response) => {
      const asked = { method: request.method ?? '', headers: { 'content-type': 'application/json' } };
      const answer = await service.fetch(`${sandbox.baseUrl}${request.url}`, { ...asked, body: await buffer(request) });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    }),
  );
  const tunnels: string[] = [];
  const proxy = await listening(
    createServer().on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const [host, port] = (request.url ?? '').split(':');
      const there = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        there.pipe(socket).pipe(there);
      });
    }),
  );
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy', 'HTTPS_PROXY', 'NO_PROXY']) vi.stubEnv(name, undefined);
  vi.stubEnv('HTTP_PROXY', proxy.origin);
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', target.origin);
  sandbox.links.seed(3);

  await import('../../examples/through-a-proxy.ts');

  await Promise.all([proxy.close(), target.close()]);
  expect(printed).toEqual(['3 links, through the proxy']);
  expect(tunnels).toEqual([new URL(target.origin).host]);
});

test('the pinning example reaches a service by its own authority, and no other service', async () => {
  const authority = createAuthority('The service’s authority');
  const answered: string[] = [];
  const target = createSecureServer(createServerCertificate(authority), async (request, response) => {
    answered.push(request.url ?? '');
    const asked = { method: request.method ?? '', headers: { 'content-type': 'application/json' } };
    const answer = await service.fetch(`${sandbox.baseUrl}${request.url}`, { ...asked, body: await buffer(request) });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  const { origin, close } = await listening(target, 'https');
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-'));
  writeFileSync(join(folder, 'pinned.pem'), authority.cert);
  writeFileSync(join(folder, 'other.pem'), createAuthority('The service’s authority').cert);
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', origin);
  // No wait between attempts.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  sandbox.links.seed(3);
  const runPinning = (file: string) => {
    vi.stubEnv('HOSTED_CA_FILE', join(folder, file));
    vi.resetModules();
    return import('../../examples/pin-service-ca.ts');
  };

  await runPinning('pinned.pem');
  const refused = await runPinning('other.pem').catch((error: unknown) => error);

  await close();
  rmSync(folder, { recursive: true });
  expect(printed).toEqual(['3 links, from the service itself']);
  expect(answered).toEqual(['/v1/hosted_links/list']);
  expect(refused).toMatchObject({
    name: 'HostedConnectionError',
    outcome: 'not_sent',
    mayHaveActed: false,
    cause: { code: 'CERT_SIGNATURE_FAILURE' },
  });
});

async function listening(server: Server, scheme = 'http'): Promise<{ origin: string; close(): Promise<unknown> }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

test('the OpenTelemetry example makes a span of its call, and measures it', async () => {
  const spans = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 2 ** 31 - 1 });
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  vi.stubGlobal('fetch', service.fetch);
  sandbox.links.seed(3);

  await import('../../examples/trace-calls.ts');

  expect(printed).toEqual(['3 links, traced']);
  expect(spans.getFinishedSpans()).toMatchObject([
    { name: 'hosted links.list', attributes: { 'hosted.outcome': 'ok' } },
  ]);
  await reader.forceFlush();
  const points = measured.getMetrics()[0]?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
  expect(points.map(({ descriptor }) => descriptor.name)).toEqual(['hosted.client.call.duration']);
  await reader.shutdown();
  vi.unstubAllGlobals();
});
