/**
 * The pages that an end user meets: the link's form, what became of the job, and why a link is closed.
 *
 * @module
 */

import { isHttpUrl } from '../../protocol/http-url.js';
import type { StoredJob, StoredLink } from '../../testing/store.js';
import { outcomeNames, outcomes } from '../outcomes.js';
import { countryName, idTypeName, idTypeValue, methodName } from './id-types.js';
import { Badge, Layout } from './layout.js';

/** What a form was sent with, and what is wrong with it. */
export interface FormState {
  readonly idType: string | null;
  readonly outcome: string | null;
  readonly hasConsent: boolean;
  readonly problems: readonly { readonly field: 'id' | 'consent' | 'outcome'; readonly message: string }[];
}

export const emptyForm: FormState = { idType: null, outcome: null, hasConsent: false, problems: [] };

export function LinkPage({ link, form }: { link: StoredLink; form: FormState }) {
  return (
    <Layout title={form.problems.length > 0 ? `Please check · ${link.companyName}` : link.companyName}>
      <h1>
        <span class="eyebrow">Verify your identity for</span> {link.companyName}
      </h1>
      {form.problems.length > 0 && <Problems problems={form.problems} />}
      <form method="post" action={`/links/${link.refId}`}>
        <IdTypes link={link} chosen={form.idType} />
        <Consent link={link} isGiven={form.hasConsent} />
        <Outcomes chosen={form.outcome} />
        <button type="submit">Start the verification</button>
      </form>
    </Layout>
  );
}

function Problems({ problems }: Pick<FormState, 'problems'>) {
  return (
    <section class="problems" role="alert">
      <h2>Please check</h2>
      <ul>
        {problems.map(({ field, message }) => (
          <li>
            <a href={`#${field}`}>{message}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function IdTypes({ link: { idTypes }, chosen }: { link: StoredLink; chosen: string | null }) {
  if (idTypes.length === 0) return <p>Any ID document will do.</p>;
  const selected = chosen ?? idTypeValue(idTypes[0] ?? { country: '', id_type: '', verification_method: '' });
  return (
    <fieldset id="id">
      <legend>Choose your ID</legend>
      {idTypes.map((idType) => (
        <label class="choice">
          <input type="radio" name="id" value={idTypeValue(idType)} checked={idTypeValue(idType) === selected} />
          <span>
            <strong>{idTypeName(idType)}</strong>
            <small>
              {countryName(idType.country)}, {methodName(idType)}
            </small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Consent({ link, isGiven }: { link: StoredLink; isGiven: boolean }) {
  const { companyName, dataPrivacyPolicyUrl: policy } = link;
  return (
    <fieldset id="consent">
      <legend>Give your consent</legend>
      <p>
        {isHttpUrl(policy) ? (
          <a href={policy} rel="noreferrer">
            Read the privacy policy of {companyName}
          </a>
        ) : (
          `The privacy policy of ${companyName} has no web address.`
        )}
      </p>
      <label class="choice">
        <input type="checkbox" name="consent" value="yes" checked={isGiven} required />
        <span>I agree that {companyName} has my identity verified.</span>
      </label>
    </fieldset>
  );
}

function Outcomes({ chosen }: { chosen: string | null }) {
  return (
    <fieldset id="outcome">
      <legend>Choose the outcome</legend>
      <p>The camera would open here. In the sandbox, you say what comes of it.</p>
      {outcomeNames.map((name) => (
        <label class="choice">
          <input type="radio" name="outcome" value={name} checked={name === (chosen ?? 'approved')} />
          <span>
            <strong>{outcomes[name].title}</strong>
            <small>{outcomes[name].explanation}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** What an end user is told of a job. */
export function stateOf({ results, outcome }: StoredJob): {
  kind: 'good' | 'bad' | 'wait';
  title: string;
  text: string;
} {
  if (outcome?.success)
    return { kind: 'good', title: 'Verified', text: 'Your identity was verified. You may close this page.' };
  if (outcome)
    return {
      kind: 'bad',
      title: 'Not verified',
      text: 'Your identity could not be verified. The company will tell you what to do.',
    };
  if (results.length > 0)
    return { kind: 'wait', title: 'Under review', text: 'A person looks at it now. This page shows the result.' };
  return {
    kind: 'wait',
    title: 'Pending',
    text: 'Nothing was decided. In the sandbox, the console can complete the job.',
  };
}

export function JobPage({ link, job }: { link: StoredLink; job: StoredJob }) {
  const { kind, title, text } = stateOf(job);
  return (
    <Layout title={`${title} · ${link.companyName}`} isLive>
      <h1>
        <span class="eyebrow">Your verification for</span> {link.companyName}
      </h1>
      <section class="card" role="status" data-live="job">
        <p>
          <Badge kind={kind}>{title}</Badge>
        </p>
        <p>{text}</p>
      </section>
      <noscript>
        <p>
          <a href={`/links/${link.refId}/jobs/${job.jobId}`}>Look again</a>
        </p>
      </noscript>
      <p>
        <a href={`/console/links/${link.refId}`}>See the story of this link in the console</a>
      </p>
    </Layout>
  );
}

const closedTexts = {
  disabled: {
    title: 'This link was disabled',
    text: 'The company does not use it any longer. Ask the company for a new link.',
    developer: 'It was disabled with links.disable(), or in the console. Create another with links.create().',
  },
  expired: {
    title: 'This link has expired',
    text: 'It was valid for a limited time. Ask the company for a new link.',
    developer: 'The time of "expiresAt" has passed. Create another with links.create().',
  },
  used: {
    title: 'This link was used',
    text: 'It works once. If you did not finish, ask the company for a new link.',
    developer: 'It is for a single use ("isSingleUse") and has a job. Create another with links.create().',
  },
} as const;

export function ClosedPage({ link, closed }: { link: StoredLink; closed: keyof typeof closedTexts }) {
  const { title, text, developer } = closedTexts[closed];
  return (
    <Layout title={`${title} · ${link.companyName}`}>
      <h1>
        <span class="eyebrow">{link.companyName}</span> {title}
      </h1>
      <p>{text}</p>
      <section class="card">
        <h2>For developers</h2>
        <p>{developer}</p>
        <p>
          <a href={`/console/links/${link.refId}`}>See the story of this link in the console</a>
        </p>
      </section>
    </Layout>
  );
}

/** For any address that there is nothing at. */
export function NotFoundPage() {
  return (
    <Layout title="Not found">
      <h1>There is nothing here</h1>
      <p>Check the address of the link, or ask the company for a new one.</p>
      <section class="card">
        <h2>For developers</h2>
        <p>
          The sandbox has no link of this reference id, and no page of this address. It may have been started anew
          without a folder: then it has forgotten its links. Create another with links.create().
        </p>
        <p>
          <a href="/">See all links in the console</a>
        </p>
      </section>
    </Layout>
  );
}

/** For a form that cannot be read, and the like. */
export function ProblemPage({ title, message }: { title: string; message: string }) {
  return (
    <Layout title={title}>
      <h1>{title}</h1>
      <p role="alert">{message}</p>
      <p>
        <a href="/">Back to the console</a>
      </p>
    </Layout>
  );
}
