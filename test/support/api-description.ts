/**
 * docs/openapi.yaml as a JSON Schema validator reads it: what is wrong with a request, a response or a callback
 * by that file, and by nothing of this package.
 */

import { readFileSync } from 'node:fs';
import { parseYaml } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export const descriptionPath = 'docs/openapi.yaml';
const descriptionText = readFileSync(descriptionPath, 'utf8');

/** A node of the description. Not typed: what the file holds is what tests look at. */
export type Node = ReturnType<typeof JSON.parse>;

export const description = parseYaml(descriptionText) as Node;

// `allowUnionTypes`: null is written as in `type: [string, 'null']`.
const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);
// ajv takes the whole file for a schema, to find those inside it.
ajv.addVocabulary(Object.keys(description));
ajv.addSchema(description, 'openapi');

/** A request as it was sent, and the response as it came. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly request: string;
  readonly status: number;
  readonly contentType: string;
  readonly response: string;
}

/** A node, and the JSON pointer to it. */
interface Located {
  readonly node: Node;
  readonly pointer: string;
}

/** Finds a request body, a response or an example; a reference in its place is followed. */
function locate(...keys: readonly string[]): Located {
  const node = keys.reduce((value, key) => value?.[key], description);
  if (node === undefined) throw new Error(`Nothing is at #/${keys.join('/')} of ${descriptionPath}`);
  if (typeof node?.$ref === 'string') return locate(...node.$ref.slice(2).split('/'));
  return { node, pointer: `#/${keys.map(escapeKey).join('/')}` };
}

/** As a JSON pointer in a URI has it (RFC 6901 §6). */
function escapeKey(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The methods that a path item can have here. */
const methods = ['get', 'put', 'post', 'delete', 'patch'];

/** Every operation of the description. */
export const operations: readonly { readonly method: string; readonly path: string; readonly id: string }[] =
  Object.entries(description.paths as Record<string, Node>).flatMap(([path, item]) =>
    methods.filter((method) => method in item).map((method) => ({ method, path, id: item[method].operationId })),
  );

/** The operation that a request is for: a concrete path goes before one with a variable. */
export function operationOf({ method, path }: Pick<Exchange, 'method' | 'path'>) {
  const candidates = operations.filter(
    (operation) =>
      operation.method === method.toLowerCase() &&
      new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return candidates.find((operation) => !operation.path.includes('{')) ?? candidates[0];
}

/** What is wrong with the body of a request. */
export function findRequestProblems(exchange: Pick<Exchange, 'method' | 'path' | 'request'>): readonly string[] {
  const operation = operationOf(exchange);
  if (operation === undefined) return [`no operation for ${exchange.method} ${exchange.path}`];
  const body = locate('paths', operation.path, operation.method, 'requestBody');
  return checkJson(exchange.request, `${body.pointer}/content/application~1json/schema`);
}

/** What is wrong with a response to a request. */
export function findResponseProblems(exchange: Exchange): readonly string[] {
  const operation = operationOf(exchange);
  if (operation === undefined) return [`no operation for ${exchange.method} ${exchange.path}`];
  const { node } = locate('paths', operation.path, operation.method, 'responses');
  const status = String(exchange.status) in node ? String(exchange.status) : 'default';
  const response = locate('paths', operation.path, operation.method, 'responses', status);
  const mediaType = exchange.contentType.split(';')[0] ?? '';
  if (response.node.content?.[mediaType] === undefined) return [`no ${mediaType} for ${status}`];
  const schema = `${response.pointer}/content/${escapeKey(mediaType)}/schema`;
  return mediaType === 'application/json' ? checkJson(exchange.response, schema) : check(exchange.response, schema);
}

/** What is wrong with the body of a callback. */
export function findCallbackProblems(body: string): readonly string[] {
  return checkJson(body, '#/webhooks/result/post/requestBody/content/application~1json/schema');
}

function checkJson(text: string, pointer: string): readonly string[] {
  try {
    return check(JSON.parse(text), pointer);
  } catch (error) {
    if (error instanceof SyntaxError) return ['no JSON'];
    throw error;
  }
}

/** Why the schema at `pointer` cannot be compiled. */
export function findSchemaProblem(pointer: string): readonly string[] {
  try {
    ajv.getSchema(`openapi${pointer}`);
    return [];
  } catch (error) {
    return [`${pointer}: ${(error as Error).message}`];
  }
}

/** What is wrong with a value by the schema at `pointer`. */
export function check(value: unknown, pointer: string): readonly string[] {
  const validate = ajv.getSchema(`openapi${pointer}`);
  if (validate === undefined) throw new Error(`No schema at ${pointer}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Every example with the schema that it must fit. Wherever a body is described, there is at least one. */
export function collectExamples(): readonly { name: string; value: Node; pointer: string }[] {
  const roots = [
    ...operations.map(({ path, method }) => ['paths', path, method]),
    ...Object.keys(description.webhooks).map((name) => ['webhooks', name, 'post']),
  ];
  const bodies = roots.flatMap((root) => [
    locate(...root, 'requestBody'),
    ...Object.keys(locate(...root, 'responses').node).map((status) => locate(...root, 'responses', status)),
  ]);
  const once = new Map(bodies.map((body) => [body.pointer, body]));
  return [...once.values()].flatMap(({ node, pointer }) =>
    Object.entries((node.content ?? {}) as Record<string, Node>).flatMap(([mediaType, { examples = {} }]) => {
      const content = `${pointer}/content/${escapeKey(mediaType)}`;
      if (Object.keys(examples).length === 0) throw new Error(`No example at ${content}`);
      return Object.entries(examples as Record<string, Node>).map(([name, { $ref, value }]) => ({
        name: `${name} at ${pointer}`,
        value: $ref === undefined ? value : locate(...$ref.slice(2).split('/')).node.value,
        pointer: `${content}/schema`,
      }));
    }),
  );
}

/** A fetch that records each request and its response. */
export function recordingFetch(fetch: typeof globalThis.fetch, exchanges: Exchange[]): typeof globalThis.fetch {
  return async (input, init) => {
    const { signal, ...rest } = init ?? {};
    const request = new Request(input, rest);
    const text = await request.clone().text();
    const response = await fetch(request, signal ? { signal } : {});
    exchanges.push({
      method: request.method,
      path: new URL(request.url).pathname,
      request: text,
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      response: await response
        .clone()
        .text()
        .catch(() => ''),
    });
    return response;
  };
}
