/** What the service answers in the benches: a job status of 1 KB and a page of 100 links of 97 KB. */

import { createHmac } from 'node:crypto';

export const partnerId = '085';
export const apiKey = 'bench-key';
export const job = { userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650', jobId: '52d0de86-be3b-4219-9e96-8195b0018944' };

/** A finished job, signed now. */
export function jobStatus(): string {
  const timestamp = new Date().toISOString();
  return JSON.stringify({
    signature: createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64'),
    timestamp,
    job_complete: true,
    job_success: true,
    code: '2302',
    result: {
      ResultText: 'Enroll User',
      ResultType: 'SAIA',
      HostedJobID: '0000001897',
      JSONVersion: '1.0.0',
      IsFinalResult: 'true',
      PartnerParams: { job_id: job.jobId, user_id: job.userId, job_type: 4 },
      Actions: {
        Liveness_Check: 'Passed',
        Register_Selfie: 'Approved',
        Verify_Document: 'Passed',
        Human_Review_Compare: 'Passed',
        Return_Personal_Info: 'Returned',
        Selfie_To_ID_Card_Compare: 'Completed',
        Human_Review_Liveness_Check: 'Passed',
      },
      ConfidenceValue: '99.99',
      IsMachineResult: 'true',
      ResultCode: '0810',
    },
    image_links: { selfie_image: `https://images.hosted.test/test/000000/023/${'0'.repeat(160)}/preview.jpg` },
  });
}

/** A link of nearly a kilobyte. */
const link = (id: string) => ({
  link_url: `https://links.hosted.test/${id}`,
  link_id: id,
  ref_id: id,
  name: `Link ${id}`,
  id_types: ['PASSPORT', 'VOTER_ID', 'NATIONAL_ID', 'DRIVERS_LICENSE'].map((id_type) => ({
    country: 'NG',
    id_type,
    verification_method: 'doc_verification',
  })),
  is_single_use: false,
  callback_url: 'https://partner.hosted.test/callbacks',
  data_privacy_policy_url: 'https://partner.hosted.test/privacy',
  logo_url: 'https://partner.hosted.test/logo.png',
  user_id: `user-of-${id}`,
  total_jobs: 3,
  failed_jobs: 1,
  successful_jobs: 2,
  company_name: 'Example Ltd',
  partner_id: partnerId,
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
  expires_at: '2026-04-02T03:04:05.678Z',
  disabled_at: null,
});

const hundredLinks = JSON.stringify(Array.from({ length: 100 }, (_, index) => link(`link-0-${index}`)));

/** A page of 100 links, each page with links of its own. */
export function linkPage(page: number, totalPages: number): string {
  const meta = { currentPage: page, limit: 100, totalCount: totalPages * 100, totalPages };
  return `{"links":${hundredLinks.replaceAll('link-0-', `link-${page}-`)},"meta":${JSON.stringify(meta)}}`;
}
