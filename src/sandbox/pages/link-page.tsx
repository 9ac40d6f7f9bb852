/**
 * The pages for end users: the form of a link, the state of the job, and why a link cannot be used.
 *
 * @module
 */

import { isHttpUrl } from '../../protocol/http-url.js';
import type { StoredJob, StoredLink } from '../../testing/store.js';
import { isOutcome, outcomeNames, outcomes } from '../outcomes.js';
import { type JobTitle, stateOf } from '../stream.js';
import { countryName, idTypeName, idTypeValue, methodName } from './id-types.js';
import { Badge, Layout } from './layout.js';

/** The values of a submitted form, and what is wrong with them. The id of each field is its `path`. */
export interface FormState {
  readonly idType: string | null;
  readonly outcome: string | null;
  readonly hasConsent: boolean;
  readonly problems: readonly { readonly path: 'id' | 'consent' | 'outcome'; readonly message: string }[];
}

export const emptyForm: FormState = { idType: null, outcome: null, hasConsent: false, problems: [] };

export interface LinkView {
  readonly link: StoredLink;
  readonly form: FormState;
  /** Whether the policy of the page allows the logo. Otherwise, the page shows its URL. */
  readonly isLogoShown: boolean;
}

export function LinkPage({ link, form, isLogoShown }: LinkView) {
  const { companyName, logoUrl } = link;
  return (
    <Layout title={form.problems.length > 0 ? `Please check · ${link.companyName}` : link.companyName}>
      {logoUrl !== null &&
        (isLogoShown ? (
          <img class="logo" src={logoUrl} alt={`Logo of ${companyName}`} referrerpolicy="no-referrer" />
        ) : (
          <p>Logo: {logoUrl}</p>
        ))}
      <h1>
        <span class="eyebrow">Verify your identity for</span> <bdi>{companyName}</bdi>
      </h1>
      {form.problems.length > 0 && <Problems problems={form.problems} />}
      <form method="post" action={`/links/${link.refId}`}>
        <IdTypes link={link} form={form} />
        <Consent link={link} form={form} />
        <Outcomes form={form} />
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
        {problems.map(({ path, message }) => (
          <li id={`${path}-problem`}>
            <a href={`#${path}`}>{message}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Connects a field with its problem, for screen readers. */
function problemOf(form: FormState, field: string) {
  const isWrong = form.problems.some(({ path }) => path === field);
  return isWrong ? { 'aria-invalid': 'true' as const, 'aria-describedby': `${field}-problem` } : {};
}

function IdTypes({ link: { idTypes }, form }: { link: StoredLink; form: FormState }) {
  if (idTypes.length === 0) return <p>Any ID document will do.</p>;
  const values = idTypes.map(idTypeValue);
  const selected = values.find((value) => value === form.idType) ?? values[0];
  return (
    <fieldset>
      <legend>Choose your ID</legend>
      {idTypes.map((idType) => (
        <label class="choice">
          <input
            type="radio"
            name="id"
            value={idTypeValue(idType)}
            {...(idTypeValue(idType) === selected && { id: 'id', checked: true, ...problemOf(form, 'id') })}
          />
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

function Consent({ link, form }: { link: StoredLink; form: FormState }) {
  const { companyName, dataPrivacyPolicyUrl: policy } = link;
  return (
    <fieldset>
      <legend>Give your consent</legend>
      <p>
        {isHttpUrl(policy) ? (
          <a href={policy} rel="noreferrer">
            Read the privacy policy of <bdi>{companyName}</bdi>
          </a>
        ) : (
          <>
            There is no link to the privacy policy of <bdi>{companyName}</bdi>.
          </>
        )}
      </p>
      <label class="choice">
        <input
          id="consent"
          type="checkbox"
          name="consent"
          value="yes"
          checked={form.hasConsent}
          required
          {...problemOf(form, 'consent')}
        />
        <span>
          I agree that <bdi>{companyName}</bdi> verifies my identity.
        </span>
      </label>
    </fieldset>
  );
}

function Outcomes({ form }: { form: FormState }) {
  const selected = isOutcome(form.outcome) ? form.outcome : 'approved';
  return (
    <fieldset class="simulated">
      <legend>Only in the sandbox</legend>
      <p>The camera would open here.</p>
      <label>
        How the verification ends
        <select id="outcome" name="outcome" {...problemOf(form, 'outcome')}>
          {outcomeNames.map((name) => (
            <option value={name} selected={name === selected}>
              {outcomes[name].title} (
              {outcomes[name].results.map(({ code }) => code).join(', then ') || 'stays pending'})
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}

const jobTexts: Readonly<Record<JobTitle, string>> = {
  Verified: 'Your identity was verified. You may close this page.',
  'Not verified': 'Your identity could not be verified. The company will tell you what to do.',
  'Under review': 'A person reviews your data. This page will show the result.',
  Pending: 'There is no result yet. In the sandbox, you can complete the job in the console.',
};

export function JobPage({ link, job }: { link: StoredLink; job: StoredJob }) {
  const { kind, title } = stateOf(job);
  const isFinal = job.outcome !== null;
  return (
    <Layout title={`${title} · ${link.companyName}`} isLive={!isFinal}>
      <h1>
        <span class="eyebrow">Your verification for</span> <bdi>{link.companyName}</bdi>
      </h1>
      <section class="card" role="status" data-live="job">
        <p>
          <Badge kind={kind}>{title}</Badge>
        </p>
        <p>{jobTexts[title]}</p>
      </section>
      {!isFinal && (
        <>
          <p class="live" data-follow="This page updates automatically." />
          <noscript>
            <p>
              <a href={`/links/${link.refId}/jobs/${encodeURIComponent(job.jobId)}`}>Look again</a>
            </p>
          </noscript>
        </>
      )}
      <p>
        <ConsoleLink refId={link.refId} />
      </p>
    </Layout>
  );
}

/** Why a link cannot be used, for end users and for developers. */
export const closedTexts = {
  disabled: {
    title: 'This link was disabled',
    text: 'The link can no longer be used. Ask the company for a new link.',
    developer: 'The link was disabled with links.disable() or in the console. Create another link with links.create().',
  },
  expired: {
    title: 'This link has expired',
    text: 'The link was valid for a limited time. Ask the company for a new link.',
    developer: 'The time in "expiresAt" has passed. Create another link with links.create().',
  },
  used: {
    title: 'This link was used',
    text: 'The link works only once. If you did not finish, ask the company for a new link.',
    developer: 'The link is for a single use ("isSingleUse") and has a job. Create another link with links.create().',
  },
  unknown: {
    title: 'There is nothing here',
    text: 'Check the address of the link, or ask the company for a new one.',
    developer:
      'The sandbox has no link with this reference id, and no page at this URL. If it was restarted without a folder, its links are gone. Create another link with links.create().',
  },
} as const;

/** The page of a link that cannot be used, and of what is not there. */
export function ClosedPage({ link, closed }: { link: StoredLink | null; closed: keyof typeof closedTexts }) {
  const { title, text, developer } = closedTexts[closed];
  return (
    <Layout title={link === null ? title : `${title} · ${link.companyName}`}>
      <h1>
        {link !== null && (
          <span class="eyebrow">
            <bdi>{link.companyName}</bdi>
          </span>
        )}{' '}
        {title}
      </h1>
      <p>{text}</p>
      <section class="card">
        <h2>For developers</h2>
        <p>{developer}</p>
        <p>{link === null ? <a href="/">See all links in the console</a> : <ConsoleLink refId={link.refId} />}</p>
      </section>
    </Layout>
  );
}

function ConsoleLink({ refId }: { refId: string }) {
  return <a href={`/console/links/${refId}`}>See this link in the console</a>;
}

/** The page for unknown links and URLs. */
export function NotFoundPage() {
  return <ClosedPage link={null} closed="unknown" />;
}

/** The page that says why a form was rejected. */
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
