/**
 * How to connect a program to the sandbox: variables, a first call, and callbacks.
 *
 * @module
 */

import type { SigningFacts } from '../signing-mistakes.js';
import { type Connection, furtherEnvironments, type Shell, shells, writeVariables } from '../variables.js';
import { Act, type ConsoleFrame, ConsolePage, Copy } from './console-layout.js';

export interface ConnectView extends Pick<Connection, 'baseUrls'> {
  readonly signing: SigningFacts;
  readonly shell: Shell;
  /** A signed call, as a command; null if `curl` cannot sign. */
  readonly curl: string | null;
  readonly hasDescription: boolean;
}

const firstCall = `import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();
const link = await client.links.create({
  companyName: 'Example Partner',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: 'http://127.0.0.1:4086/',
});
console.log(link.url);
`;

const shellNames: Partial<Record<Shell, string>> = { powershell: 'PowerShell', env: '.env' };

/** `at` is the URL of the page that shows it. */
export function Connect({ view, at }: { view: ConnectView; at: string }) {
  const { signing, baseUrls, shell, curl, hasDescription } = view;
  const { partnerId, apiKeys } = signing;
  const variables = writeVariables({ partnerId, apiKey: apiKeys?.sandbox ?? null, baseUrls }, shell);
  return (
    <section id="connect" aria-label="Connect">
      <h2>1. Set the variables</h2>
      <p>These are test keys: they work only with this sandbox.</p>
      <ul class="chips">
        {shells.map((name) => (
          <li>
            <a href={`${at}?shell=${name}#connect`} aria-current={name === shell && 'true'}>
              {shellNames[name] ?? name}
            </a>
          </li>
        ))}
      </ul>
      <Code text={variables} what="the variables" />
      {apiKeys !== null &&
        furtherEnvironments.map((name) => (
          <p>
            The key of {name} is <code>{apiKeys[name]}</code>.
          </p>
        ))}
      <h2>2. Make a first call</h2>
      <Code text={firstCall} what="the first call" />
      {curl !== null && (
        <details>
          <summary>Or in sh, with curl and openssl</summary>
          <Code text={curl} what="the command" />
        </details>
      )}
      <Act action="/console/links">Or create a link here</Act>
      <h2>3. Receive its callbacks</h2>
      <Code text="npx hosted-client listen" what="the command that listens" />
      {hasDescription && (
        <p>
          <a href="/openapi.yaml">OpenAPI description of the service</a>
        </p>
      )}
    </section>
  );
}

function Code({ text, what }: { text: string; what: string }) {
  return (
    <div class="code">
      <Copy text={text} what={what} />
      <pre tabindex={0}>{text}</pre>
    </div>
  );
}

export function ConnectPage({ view, ...frame }: ConsoleFrame & { view: ConnectView }) {
  return (
    <ConsolePage title="Connect" at="/console/connect" {...frame}>
      <h1>Connect</h1>
      <Connect view={view} at="/console/connect" />
    </ConsolePage>
  );
}
