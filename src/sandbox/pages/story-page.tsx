/**
 * The console's page of one link: its state, its jobs, and what happened to it.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import type { StoryEvent } from '../stories.js';
import { JobRow, type Latest, LinkActions, LinkState, Rows, type ShownJob, type ShownLink } from './console-rows.js';
import { countryName, idTypeName, methodName } from './id-types.js';
import { Layout, Time } from './layout.js';

export interface LinkStoryView extends ShownLink {
  readonly story: readonly StoryEvent[];
  readonly jobs: Latest<ShownJob>;
}

export function LinkStoryPage({ environment, link, closed, story, jobs }: LinkStoryView) {
  const name = link.name ?? link.companyName;
  return (
    <Layout title={name} isLive isWide>
      <p>
        <a href="/">Console</a>
      </p>
      <h1>
        <span class="eyebrow">Link of {environment}</span> {name}
      </h1>
      <section aria-label="State" data-live="link">
        <p class="heading">
          <LinkState closed={closed} />
        </p>
        <LinkActions link={link} closed={closed} />
      </section>
      <section aria-labelledby="facts-title">
        <h2 id="facts-title">Facts</h2>
        <dl>
          <Fact name="Company">{link.companyName}</Fact>
          <Fact name="Reference">
            <code>{link.refId}</code>
          </Fact>
          <Fact name="URL">
            <code>{link.url}</code>
          </Fact>
          <Fact name="Callback URL">
            <code>{link.callbackUrl ?? 'none'}</code>
          </Fact>
          <Fact name="Single use">{link.isSingleUse === true ? 'yes' : 'no'}</Fact>
          <Fact name="Expires">{link.expiresAt ?? 'never'}</Fact>
          <Fact name="ID types">
            {link.idTypes.length === 0
              ? 'any'
              : link.idTypes
                  .map((each) => `${idTypeName(each)} of ${countryName(each.country)} (${methodName(each)})`)
                  .join('; ')}
          </Fact>
        </dl>
      </section>
      <section aria-labelledby="story-title">
        <h2 id="story-title">Story</h2>
        <ol class="timeline" data-live="story">
          {story.map(({ at, title, details }) => (
            <li>
              <Time at={at} /> <strong>{title}</strong> {details !== '' && <span>{details}</span>}
            </li>
          ))}
        </ol>
      </section>
      <Rows id="jobs" title="Jobs" latest={jobs} empty="No job yet.">
        {(shown: ShownJob) => <JobRow {...shown} />}
      </Rows>
    </Layout>
  );
}

function Fact({ name, children }: { name: string; children: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
