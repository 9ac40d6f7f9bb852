/**
 * The console's pages of one request and of one callback.
 *
 * @module
 */

import { parseJson } from '../../runtime/untrusted-objects.js';
import { variantTexts } from '../faults.js';
import type { KeptTexts } from '../kept-bodies.js';
import { describeEntry, jobUrl, type StreamEntry, verdictOf } from '../stream.js';
import type { SandboxCallback, SandboxRequest } from '../types.js';
import { Act, Ago, type ConsoleFrame, ConsolePage, Copy, Facts, Select, Value } from './console-layout.js';
import { Badge } from './layout.js';

/** The failures before and after the entry of a page. */
interface Neighbours {
  readonly olderFailure: StreamEntry | undefined;
  readonly newerFailure: StreamEntry | undefined;
}

export interface RequestView extends ConsoleFrame, Neighbours {
  readonly request: SandboxRequest;
  /** Null if no body is kept. */
  readonly texts: KeptTexts | null;
  /** The command that sends the request again; null if there is none, undefined if it is too long to be shown. */
  readonly curl: string | null | undefined;
}

/** The longest text that a page shows, the longest string in it, and the longest JSON that is indented for it. */
export const longest = { text: 12_000, string: 300, json: 100_000 };

export function RequestPage({ request, texts, curl, ...frame }: RequestView) {
  const { id, at, environment, operation, method, path, status, durationMs, code, reason, signature } = request;
  const { summary, notes } = request;
  const name = operation ?? `${method} ${path}`;
  const own = `/console/requests/${id}`;
  return (
    <ConsolePage title={`${name} ${status}`} {...frame}>
      <Failures {...frame} />
      <h1>
        <span class="eyebrow">
          Request {id} to {environment}, <Ago at={at} />
        </span>{' '}
        <bdi>{name}</bdi>{' '}
        <Badge kind={reason === null ? 'plain' : 'bad'}>{status === 0 ? 'No response' : status}</Badge>
      </h1>
      {reason !== null && (
        <p class="problems">
          {code} {reason}
        </p>
      )}
      <Facts
        facts={{
          Path: <Value text={`${method} ${path}`} what="the path" />,
          ...aboutOf(request),
          Response: summary,
          Signature: (
            <>
              {signature.message === reason ? 'Wrong' : signature.message}
              {texts?.signedText !== undefined && <SignedText name="Signed" text={texts.signedText} />}
              {texts?.expectedText !== undefined && <SignedText name="Expected" text={texts.expectedText} />}
              {texts?.expectedText !== undefined && <small>with the key of {environment}: ••••••••</small>}
            </>
          ),
          Notes: notes.join('; '),
          Duration: `${durationMs} ms`,
        }}
      />
      <Act action={`${own}/replay`}>Replay with a fresh signature</Act>
      <Body title="Request" text={texts?.sent} href={`${own}/sent`} />
      <Body title="Response" text={texts?.response} href={`${own}/response`} />
      {curl === undefined && <Whole href={`${own}/curl`} what="signed curl command" />}
      {curl && (
        <details>
          <summary>As signed curl</summary>
          <Copy text={curl} what="the command" />
          <pre>{curl}</pre>
        </details>
      )}
    </ConsolePage>
  );
}

/** Leads to the failures before and after this entry. */
function Failures({ olderFailure, newerFailure }: Neighbours) {
  return (
    <p class="failures" data-live="neighbours">
      {olderFailure && <a href={describeEntry(olderFailure).href}>Older failure</a>}{' '}
      {newerFailure && <a href={describeEntry(newerFailure).href}>Newer failure</a>}
    </p>
  );
}

function SignedText({ name, text }: { name: string; text: string }) {
  return (
    <span class="signed">
      {name}: <code>{shorten(text, 300)}</code>
    </span>
  );
}

/** The link and the job of a request or callback, as facts. */
function aboutOf({ linkRefId, job }: Pick<SandboxRequest, 'linkRefId' | 'job'>) {
  const linkUrl = `/console/links/${encodeURIComponent(linkRefId ?? '')}`;
  return {
    Link: linkRefId !== null && <Value text={linkRefId} what="the link’s reference" href={linkUrl} />,
    Job: job && <Value text={job.jobId} what="the job’s id" href={jobUrl(job.jobId)} />,
    User: job && <Value text={job.userId} what="the user’s id" href={`/?q=${encodeURIComponent(job.userId)}`} />,
  };
}

const variantOptions = Object.entries({ genuine: 'as it is', ...variantTexts });

export interface CallbackView extends ConsoleFrame, Neighbours {
  readonly callback: SandboxCallback;
  readonly texts: KeptTexts | null;
}

/** How many attempts a page shows: the latest ones. */
const mostAttempts = 5;

export function CallbackPage({ callback, texts, ...frame }: CallbackView) {
  const { id, at, environment, resultCode, url, variant, copyOf, state, attempts, nextAttemptAt } = callback;
  const { title, isFailed, reason } = verdictOf(callback);
  const own = `/console/callbacks/${id}`;
  return (
    <ConsolePage title={`Callback ${id} ${title}`} {...frame}>
      <Failures {...frame} />
      <h1>
        <span class="eyebrow">
          Callback of {environment}, <Ago at={at} />
        </span>{' '}
        Callback {id}, result {resultCode}
      </h1>
      <section aria-label="State" data-live="callback">
        <p class="heading">
          <Badge kind={isFailed ? 'bad' : 'plain'}>{title}</Badge>
          {nextAttemptAt && (
            <span>
              The next attempt: <Ago at={nextAttemptAt} isNext />
            </span>
          )}
        </p>
        {reason !== null && <p class={isFailed ? 'problems' : ''}>{reason}</p>}
        <div class="actions">
          {(nextAttemptAt !== null || state === 'gave_up') && <Act action={`${own}/retry`}>Try now</Act>}
          {state === 'waiting' && <Act action={`${own}/stop`}>Stop trying</Act>}
        </div>
        <ol class="attempts">
          {attempts
            .map((attempt, index) => (
              <li class={attempt.problem === null ? '' : 'failed'}>
                <Ago at={attempt.at} /> <strong>{attempt.status ?? 'No response'}</strong> {attempt.durationMs} ms{' '}
                {attempt.problem !== reason && attempt.problem}
                {texts?.[`response ${index}`] && texts[`response ${index}`] !== texts[`response ${index + 1}`] && (
                  <pre>{texts[`response ${index}`]}</pre>
                )}
              </li>
            ))
            .slice(-mostAttempts)
            .toReversed()}
          {attempts.length > mostAttempts && <li class="empty">Earlier attempts are in GET /control/callbacks.</li>}
        </ol>
      </section>
      <Facts
        facts={{
          URL: <Value text={url} what="the URL" />,
          ...aboutOf(callback),
          Copy: copyOf !== null && (
            <>
              of <a href={`/console/callbacks/${copyOf}`}>callback {copyOf}</a>, {variant ?? 'as it is'}
            </>
          ),
          Headers: texts?.headers && <pre>{texts.headers}</pre>,
        }}
      />
      <Body title="Posted" text={texts?.sent} href={`${own}/sent`} />
      <form method="post" action={`${own}/resend`} class="actions">
        <Select label="Variant" name="variant" options={variantOptions} />
        <button type="submit" class="quiet">
          Send again
        </button>
      </form>
    </ConsolePage>
  );
}

interface BodyProps {
  readonly title: string;
  readonly text: string | undefined;
  /** The URL of the whole text. */
  readonly href: string;
}

function Body({ title, text, href }: BodyProps) {
  const isIndented = text !== undefined && text.length <= longest.json;
  const whole = isIndented ? indent(text) : text;
  const shown = isIndented ? indent(text, longest.string) : text;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {text === undefined && <p class="empty">The body is not kept (see the option keepBodies).</p>}
      {text === '' && <p class="empty">There was no body.</p>}
      {shown && <pre tabindex={0}>{shorten(shown, longest.text)}</pre>}
      {whole && (shown !== whole || whole.length > longest.text) && <Whole href={href} what="body" />}
    </section>
  );
}

function Whole({ href, what }: { href: string; what: string }) {
  return (
    <p>
      <a href={href}>The whole {what}, as text</a>
    </p>
  );
}

/** Indents a text if it is JSON, and shortens the strings in it. */
export function indent(text: string, longestString = Number.POSITIVE_INFINITY): string {
  const json = parseJson(text);
  const toShown = (_: string, value: unknown) => (typeof value === 'string' ? shorten(value, longestString) : value);
  return json === undefined ? text : JSON.stringify(json, toShown, 2);
}

function shorten(text: string, length: number): string {
  const rest = text.length - length;
  return rest > 0 ? `${text.slice(0, length)}… (${rest.toLocaleString('en')} more characters)` : text;
}
