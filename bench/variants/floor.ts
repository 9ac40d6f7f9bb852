/**
 * The lowest cost of a job status with ky: the call, one HMAC to sign, one HMAC to verify, and a value that is built
 * by hand. This variant has no checks, no time limits and no retries, and reads only the response of the fixture.
 */

import { createHmac, createSecretKey } from 'node:crypto';
import ky from 'ky';
import { emptyResult } from '../../test/fixtures/records.ts';
import { apiKey, job, partnerId, paths } from '../service/fixtures.ts';
import type { Target } from '../service/target.ts';
import { createPost } from './bare.ts';
import { postingVariant, type Variant } from './variant.ts';

interface WireStatus {
  readonly timestamp: string;
  readonly signature: string;
  readonly job_success: boolean;
  readonly code: string;
  readonly result: {
    readonly ResultCode: string;
    readonly ResultText: string;
    readonly ResultType: string;
    readonly HostedJobID: string;
    readonly JSONVersion: string;
    readonly IsFinalResult: string;
    readonly IsMachineResult: string;
    readonly ConfidenceValue: string;
    readonly Actions: Readonly<Record<string, string>>;
    readonly PartnerParams: { readonly user_id: string; readonly job_id: string; readonly job_type: number };
  };
  readonly image_links: { readonly selfie_image: string };
}

/** Creates the variant. Only its `status` signs, verifies and decodes. */
export function floorVariant(target: Target): Variant {
  const { baseUrl, fetch } = target;
  const key = createSecretKey(Buffer.from(apiKey));
  const url = baseUrl + paths.status;
  const headers = { 'content-type': 'application/json' };

  function sign(timestamp: string): string {
    return createHmac('sha256', key).update(`${timestamp}${partnerId}sid_request`).digest('base64');
  }

  async function status() {
    const timestamp = new Date().toISOString();
    const { userId: user_id, jobId: job_id } = job;
    const body = JSON.stringify({ partner_id: partnerId, user_id, job_id, timestamp, sec_key: sign(timestamp) });
    const send = () => fetch(url, { method: 'POST', headers, body });
    const wire = await ky.post(url, { fetch: send, retry: 0, timeout: false }).json<WireStatus>();
    if (wire.signature !== sign(wire.timestamp)) {
      throw Object.assign(new Error('The signature is wrong'), { code: 'signature' });
    }
    return decode(wire);
  }

  return { ...postingVariant(createPost(target)), isWhole: true, status };
}

function decode({ timestamp, job_success, code, result, image_links }: WireStatus) {
  return {
    userId: job.userId,
    jobId: job.jobId,
    state: job_success ? 'succeeded' : 'failed',
    complete: true,
    success: job_success,
    code,
    message: null,
    result: {
      ...emptyResult,
      resultCode: result.ResultCode,
      resultText: result.ResultText,
      resultType: result.ResultType,
      hostedJobId: result.HostedJobID,
      jsonVersion: result.JSONVersion,
      isFinal: result.IsFinalResult === 'true',
      isMachine: result.IsMachineResult === 'true',
      confidence: Number(result.ConfidenceValue),
      actions: { ...result.Actions },
      partnerParams: {
        userId: result.PartnerParams.user_id,
        jobId: result.PartnerParams.job_id,
        jobType: String(result.PartnerParams.job_type),
        linkId: null,
        extra: {},
      },
    },
    imageLinks: { selfieImage: image_links.selfie_image, expiresAt: null, extra: {} },
    history: null,
    signedAt: new Date(timestamp),
  };
}
