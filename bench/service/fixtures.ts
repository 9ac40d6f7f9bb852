/** The responses of the service in the benches: a job status of 1 KB, and pages of 97 KB with 100 links. */

import { createHmac } from 'node:crypto';

export const partnerId = '085';
export const apiKey = 'bench-key';
export const job = { userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650', jobId: '52d0de86-be3b-4219-9e96-8195b0018944' };
export const paths = { status: '/v1/job_status', list: '/v1/hosted/list' };

/** Signs with the service's scheme and node:crypto: `base64(HMAC-SHA256(key, timestamp + partner + 'sid_request'))`. */
export function signatureOf(timestamp: string, key: string = apiKey): string {
  return createHmac('sha256', key).update(`${timestamp}${partnerId}sid_request`).digest('base64');
}

/**
 * Returns the time one second ago. A response with the time of the request would have the signature of the request, and
 * the client would reject it.
 */
function responseTimestamp(): string {
  return new Date(Date.now() - 1_000).toISOString();
}

/** Writes the status of a completed job and signs it. A test of forged responses passes another key. */
export function jobStatus(key?: string): string {
  const timestamp = responseTimestamp();
  return JSON.stringify({
    signature: signatureOf(timestamp, key),
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

/** Writes the status of a pending job and signs it. */
export function pendingJobStatus(): string {
  const timestamp = responseTimestamp();
  return JSON.stringify({ job_complete: false, signature: signatureOf(timestamp), timestamp });
}

/** A placeholder in ids. The number of the page replaces it. */
const pageMark = 'PPPPP';

/** A link of nearly a kilobyte. */
const link = (id: string, companyName: string) => ({
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
  company_name: companyName,
  partner_id: partnerId,
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
  expires_at: '2026-04-02T03:04:05.678Z',
  disabled_at: null,
});

/** Creates a function that writes pages. As in real accounts, one name is not ASCII, unless `ascii` is set. */
export function createPages({ totalPages, ascii = false }: { totalPages: number; ascii?: boolean }) {
  const companyOf = (index: number) => (index === 50 && !ascii ? 'Ọjà Ltd' : 'Example Ltd');
  const links = Array.from({ length: 100 }, (_, index) => link(`link-${pageMark}-${index}`, companyOf(index)));
  const template = Buffer.from(`{"links":${JSON.stringify(links)},"meta":`);
  const marks: number[] = [];
  for (let at = template.indexOf(pageMark); at >= 0; at = template.indexOf(pageMark, at + 1)) marks.push(at);

  /** Writes a page whose links are on no other page. It must be fast, because it runs in the measured process. */
  return (page: number): Uint8Array => {
    const meta = { currentPage: page, limit: 100, totalCount: totalPages * 100, totalPages };
    const bytes = Buffer.concat([template, Buffer.from(`${JSON.stringify(meta)}}`)]);
    const digits = Buffer.from(String(page).padStart(pageMark.length, '0'));
    for (const mark of marks) {
      for (let place = 0; place < digits.length; place++) bytes[mark + place] = digits[place] as number;
    }
    return bytes;
  };
}
