/** NestJS 12: the client as a provider, injected into a service, and a controller that receives callbacks. */

import 'reflect-metadata';
import { Controller, Injectable, Module, Post, type RawBodyRequest, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type express from 'express';
import { HostedClient } from 'hosted-client';

@Injectable()
export class Verifications {
  /** Believes a callback or not, and asks job status for the truth. */
  readonly receive: (request: Request) => Promise<Response>;

  constructor(private readonly client: HostedClient) {
    this.receive = client.callbacks.handler({
      onEvent: async (event, status) => {
        // Runs once for each callback; when it rejects, the service delivers again.
        console.log(`result ${event.id}: the job is ${status.state}`);
      },
    });
  }

  async invite(userId: string): Promise<string> {
    const { url } = await this.client.links.create({
      companyName: 'Example Ltd',
      dataPrivacyPolicyUrl: 'https://example.test/privacy',
      callbackUrl: 'https://example.test/callbacks',
      isSingleUse: true,
      userId,
    });
    return url;
  }
}

@Controller('callbacks')
class CallbacksController {
  constructor(private readonly verifications: Verifications) {}

  @Post()
  async receive(@Req() request: RawBodyRequest<express.Request>, @Res() response: express.Response): Promise<void> {
    const url = `${request.protocol}://${request.host}${request.originalUrl}`;
    const body = request.rawBody as Uint8Array<ArrayBuffer> | undefined;
    const answer = await this.verifications.receive(new Request(url, { method: 'POST', body: body ?? null }));
    response.status(answer.status).set(Object.fromEntries(answer.headers)).end();
  }
}

@Module({
  controllers: [CallbacksController],
  providers: [{ provide: HostedClient, useFactory: () => HostedClient.fromEnv() }, Verifications],
})
export class AppModule {}

export async function createApp(): Promise<NestExpressApplication> {
  // The handler needs the body as it came; callbacks carry images, and the usual limit is 100 kB.
  const app = await NestFactory.create<NestExpressApplication>(AppModule, { rawBody: true, logger: ['error', 'warn'] });
  return app.useBodyParser('json', { limit: '8mb' });
}
