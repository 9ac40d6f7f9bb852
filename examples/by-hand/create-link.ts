/** Typical hand-written code that creates a link; docs/moving.md lists its mistakes. */

import { post } from './post.ts';

export async function createLink(): Promise<{ link: string; ref_id: string }> {
  return post('hosted_links', {
    company_name: 'Example Ltd',
    data_privacy_policy_url: 'https://example.test/privacy',
    callback_url: 'http://127.0.0.1:3000/callbacks',
    id_types: [{ country: 'NG', id_type: 'PASSPORT', verification_method: 'doc_verification' }],
    is_single_use: true,
  });
}
