/** NestJS 12: the client as a provider, injected into a service, and a controller that receives callbacks. */

import 'reflect-metadata';
import { Controller, Injectable, Module, Post, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type express from 'express';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';

@Injectable()
export class Verifications {
  /** Verifies a callback, and confirms it by job status. */
  readonly receive: ReturnType<typeof nodeHandler>;

  constructor(private readonly client: HostedClient) {
    this.receive = nodeHandler(
      client.callbacks.handler({
        onEvent: async (event, status) => {
          // A verdict may change: keep it by job, as in express-and-postgres.ts.
          console.log(`change ${event.id}: the job is ${status.state}`);
        },
      }),
    );
  }

  async invite(userId: string): Promise<string> {
    const { refId } = await this.client.links.create({
      companyName: 'Example Ltd',
      dataPrivacyPolicyUrl: 'https://example.test/privacy',
      callbackUrl: 'https://example.test/callbacks',
      isSingleUse: true,
      userId,
    });
    // The signature covers no body, so nothing but this shows that the link is this user's.
    const { url, userIds } = await this.client.links.get(refId);
    if (!userIds.includes(userId)) throw new Error('the link is of another user');
    return url;
  }
}

@Controller('callbacks')
class CallbacksController {
  constructor(private readonly verifications: Verifications) {}

  @Post()
  async receive(@Req() request: express.Request, @Res() response: express.Response): Promise<void> {
    await this.verifications.receive(request, response);
  }
}

@Module({
  controllers: [CallbacksController],
  providers: [{ provide: HostedClient, useFactory: () => HostedClient.fromEnv() }, Verifications],
})
export class AppModule {}

export async function createApp(): Promise<NestExpressApplication> {
  // Callbacks carry images: they grow to 1.5 MB, and the usual limit is 100 KB.
  const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['error', 'warn'] });
  return app.useBodyParser('json', { limit: '2mb' });
}
