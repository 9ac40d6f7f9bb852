/**
 * The console: shows what happens in the sandbox, and has the controls for developers.
 *
 * @module
 */

import type { Environment } from '../../options.js';
import { type OperationName, routes } from '../../protocol/routes.js';
import type { Sandbox, SandboxCallback, SandboxRequest } from '../types.js';
import { writeVariables } from '../variables.js';
import {
  CallbackRow,
  JobRow,
  type Latest,
  LinkRow,
  RequestRow,
  Rows,
  type ShownJob,
  type ShownLink,
} from './console-rows.js';
import { Layout } from './layout.js';

/** How many entries of each list the front page shows at most. */
export const mostShown = 50;

export interface ConsoleView {
  readonly sandbox: Pick<Sandbox, 'baseUrls'>;
  readonly partnerId: string;
  /** Null with the scheme "ed25519", which has no API keys. */
  readonly apiKeys: Readonly<Record<Environment, string>> | null;
  readonly links: Latest<ShownLink>;
  readonly jobs: Latest<ShownJob>;
  readonly requests: Latest<SandboxRequest>;
  readonly callbacks: Latest<SandboxCallback>;
  readonly hasDescription: boolean;
}

export function ConsolePage(view: ConsoleView) {
  const { links, jobs, requests, callbacks } = view;
  return (
    <Layout title="Console" isLive isWide>
      <h1>Sandbox console</h1>
      <nav aria-label="Sections">
        <ul>
          {['Links', 'Jobs', 'Requests', 'Callbacks', 'Faults', 'Connect'].map((name) => (
            <li>
              <a href={`#${name.toLowerCase()}`}>{name}</a>
            </li>
          ))}
        </ul>
      </nav>
      <p class="live" role="status" data-follow>
        This page shows what happened before it was loaded.
      </p>
      <Rows id="links" title="Links" latest={links} empty="No link yet: create one with links.create().">
        {(shown: ShownLink) => <LinkRow {...shown} />}
      </Rows>
      <Rows id="jobs" title="Jobs" latest={jobs} empty="No job yet: open a link, or play an outcome.">
        {(shown: ShownJob) => <JobRow {...shown} />}
      </Rows>
      <Rows
        id="requests"
        title="Requests"
        latest={requests}
        empty="No request yet: send requests to the URLs under “Connect”."
      >
        {(request: SandboxRequest) => <RequestRow {...request} />}
      </Rows>
      <Rows
        id="callbacks"
        title="Callbacks"
        latest={callbacks}
        empty="No callback yet: if a link has a callback URL, a callback is posted for each result of its jobs."
      >
        {(callback: SandboxCallback) => <CallbackRow {...callback} />}
      </Rows>
      <Faults />
      <Connect {...view} />
    </Layout>
  );
}

const faultKinds = [
  ['status-503', 'responds with 503'],
  ['status-500', 'responds with 500'],
  ['status-429', 'responds with 429 and Retry-After'],
  ['network', 'breaks the connection'],
  ['stall', 'never responds'],
  ['truncate', 'breaks off in the middle of the body'],
  ['html', 'responds with an HTML page'],
  ['bad-signature', 'signs with another key'],
  ['missing-signature', 'does not sign'],
  ['stale-timestamp', 'signs with an hour-old timestamp'],
] as const;

function Faults() {
  return (
    <section id="faults" aria-labelledby="faults-title">
      <h2 id="faults-title">Faults</h2>
      <p>The next request for the chosen operation fails.</p>
      <form method="post" action="/console/faults" class="card fields">
        <label>
          Environment
          <select name="environment">
            <option value="sandbox">sandbox</option>
            <option value="production">production</option>
          </select>
        </label>
        <label>
          Operation
          <select name="operation">
            {(Object.keys(routes) as OperationName[]).map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Fault
          <select name="fault">
            {faultKinds.map(([value, text]) => (
              <option value={value}>{text}</option>
            ))}
          </select>
        </label>
        <button type="submit">Fail the next request</button>
      </form>
    </section>
  );
}

function Connect({ sandbox, partnerId, apiKeys, hasDescription }: ConsoleView) {
  const variables = writeVariables({ partnerId, apiKey: apiKeys?.sandbox ?? null, baseUrls: sandbox.baseUrls });
  return (
    <section id="connect" aria-labelledby="connect-title">
      <h2 id="connect-title">Connect</h2>
      <p>For HostedClient.fromEnv(). These are test keys: they work only with this sandbox.</p>
      <pre>{variables}</pre>
      {apiKeys !== null && (
        <p>
          The key of production is <code>{apiKeys.production}</code>.
        </p>
      )}
      {hasDescription && (
        <p>
          <a href="/openapi.yaml">OpenAPI description of the service</a>
        </p>
      )}
      <form method="post" action="/console/reset" class="actions">
        <button type="submit" class="quiet">
          Delete links, jobs, requests and callbacks
        </button>
      </form>
    </section>
  );
}
