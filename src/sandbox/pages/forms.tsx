/**
 * The console's forms that create a link or a fault, and the waiting faults.
 *
 * @module
 */

import { environments } from '../../options.js';
import { type OperationName, routes } from '../../protocol/routes.js';
import { describeFault, faultTexts } from '../faults.js';
import type { SandboxFault } from '../types.js';
import { Act, type ConsoleFrame, ConsolePage, Select } from './console-layout.js';
import { Badge } from './layout.js';

/** What the console creates a link with. */
const newLink = {
  company_name: 'Example Partner',
  data_privacy_policy_url: 'https://partner.example/privacy',
  id_types: [
    { country: 'NG', id_type: 'PASSPORT', verification_method: 'doc_verification' },
    { country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' },
  ],
};

/** The fields of a new link that can be chosen. */
const fields = [
  ['name', 'Name'],
  ['callback_url', 'Callback URL'],
] as const;

/** Reads the fields of a new link, as the service expects them in a request. Empty fields are left out. */
export function readNewLink(form: URLSearchParams): object {
  const given = fields.map(([name]) => [name, form.get(name)?.trim() ?? '']).filter(([, value]) => value !== '');
  return { ...newLink, ...Object.fromEntries(given) };
}

export function CreateLink() {
  return (
    <details>
      <summary>Create a link</summary>
      <form method="post" action="/console/links" class="card fields">
        {fields.map(([name, label]) => (
          <label>
            {label}
            <input type="text" name={name} />
          </label>
        ))}
        <button type="submit">Create the link</button>
      </form>
    </details>
  );
}

const faultOptions = [
  ['status-503', 'responds with 503'],
  ['status-500', 'responds with 500'],
  ['status-429', 'responds with 429 and Retry-After'],
  ...Object.entries(faultTexts).filter(([kind]) => kind !== 'status'),
] as const;

export function FaultsPage({ faults, ...frame }: ConsoleFrame & { faults: readonly SandboxFault[] }) {
  return (
    <ConsolePage title="Faults" at="/console/faults" {...frame}>
      <h1>Faults</h1>
      <form method="post" action="/console/faults" class="card fields">
        <Select label="Environment" name="environment" options={environments.map((name) => [name, name])} />
        <Select
          label="Operation"
          name="operation"
          options={(Object.keys(routes) as OperationName[]).map((name) => [name, name])}
        />
        <Select label="The service" name="fault" options={faultOptions} />
        <button type="submit">Fail the next request</button>
      </form>
      <section id="faults" aria-label="Waiting faults" data-live="faults">
        {faults.length === 0 && <p class="empty">No fault is waiting.</p>}
        {faults.map(({ id, environment, operation, fault, left }) => (
          <div id={`fault-${id}`} class="heading">
            <Badge kind="plain">{left === 1 ? 'next request' : `next ${left} requests`}</Badge>
            <span>
              {operation} of {environment}: {describeFault(fault)}
            </span>
            <Act action={`/console/faults/${id}/cancel`}>Cancel</Act>
          </div>
        ))}
      </section>
    </ConsolePage>
  );
}
