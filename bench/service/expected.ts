/** The decoded values of the fixtures, written by hand. A variant that decodes must return exactly these. */

import { emptyLink, emptyResult } from '../../test/fixtures/records.ts';
import { job } from './fixtures.ts';

/** The decoded job status. */
export function expectedStatus(timestamp: string) {
  return {
    userId: job.userId,
    jobId: job.jobId,
    state: 'succeeded',
    complete: true,
    success: true,
    code: '2302',
    message: null,
    result: {
      ...emptyResult,
      resultCode: '0810',
      resultText: 'Enroll User',
      resultType: 'SAIA',
      hostedJobId: '0000001897',
      jsonVersion: '1.0.0',
      isFinal: true,
      isMachine: true,
      confidence: 99.99,
      actions: {
        Liveness_Check: 'Passed',
        Register_Selfie: 'Approved',
        Verify_Document: 'Passed',
        Human_Review_Compare: 'Passed',
        Return_Personal_Info: 'Returned',
        Selfie_To_ID_Card_Compare: 'Completed',
        Human_Review_Liveness_Check: 'Passed',
      },
      partnerParams: {
        userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650',
        jobId: '52d0de86-be3b-4219-9e96-8195b0018944',
        jobType: '4',
        linkId: null,
        extra: {},
      },
    },
    imageLinks: {
      selfieImage: `https://images.hosted.test/test/000000/023/${'0'.repeat(160)}/preview.jpg`,
      expiresAt: null,
      extra: {},
    },
    history: null,
    signedAt: new Date(timestamp),
  };
}

/** A decoded page of links. */
export function expectedPage({
  page,
  totalPages,
  ascii = false,
}: {
  page: number;
  totalPages: number;
  ascii?: boolean;
}) {
  return {
    links: Array.from({ length: 100 }, (_, index) => {
      const id = `link-${String(page).padStart(5, '0')}-${index}`;
      return {
        ...emptyLink,
        url: `https://links.hosted.test/${id}`,
        linkId: id,
        refId: id,
        name: `Link ${id}`,
        idTypes: [
          { country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' },
          { country: 'NG', idType: 'VOTER_ID', verificationMethod: 'doc_verification' },
          { country: 'NG', idType: 'NATIONAL_ID', verificationMethod: 'doc_verification' },
          { country: 'NG', idType: 'DRIVERS_LICENSE', verificationMethod: 'doc_verification' },
        ],
        isSingleUse: false,
        callbackUrl: 'https://partner.hosted.test/callbacks',
        dataPrivacyPolicyUrl: 'https://partner.hosted.test/privacy',
        logoUrl: 'https://partner.hosted.test/logo.png',
        userIds: [`user-of-${id}`],
        jobs: { total: 3, failed: 1, successful: 2 },
        companyName: index === 50 && !ascii ? 'Ọjà Ltd' : 'Example Ltd',
        partnerId: '085',
        createdAt: new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678)),
        updatedAt: new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678)),
        expiresAt: new Date(Date.UTC(2026, 3, 2, 3, 4, 5, 678)),
      };
    }),
    meta: { currentPage: page, limit: 100, totalCount: totalPages * 100, totalPages },
    hasNextPage: page < totalPages,
  };
}
