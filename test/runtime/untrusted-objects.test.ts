// What is read of an object while other code's properties stand on `Object.prototype`, and while none do.

import { expect, test } from 'vitest';
import {
  copyProperties,
  detachFromPrototype,
  hasMethods,
  readProperty,
  shadowPollution,
  tryCopyProperties,
  writeJson,
} from '../../src/runtime/untrusted-objects.js';

/** Runs with a property on a prototype, and takes it off again. */
function polluted<T>(name: string, value: unknown, run: () => T, prototype: object = Object.prototype): T {
  Object.defineProperty(prototype, name, { value, configurable: true, enumerable: false, writable: true });
  try {
    return run();
  } finally {
    delete (prototype as Record<string, unknown>)[name];
  }
}

class Row {
  readonly #userId = 'user-1';
  get userId(): string {
    return this.#userId;
  }
  sign(): string {
    return 'signature';
  }
}

test('a property is read of the object and of its class, and not of Object.prototype', () => {
  const readAll = () =>
    [{ userId: 'own' }, new Row(), Object.create({ userId: 'inherited' }), {}, Object.create(null), []].map((holder) =>
      readProperty(holder, 'userId'),
    );
  const expected = ['own', 'user-1', 'inherited', undefined, undefined, undefined];

  expect(readAll()).toEqual(expected);
  expect(polluted('userId', 'planted', readAll)).toEqual(expected);
});

test('a proxy is asked for the property and for nothing else', () => {
  const asked: string[] = [];
  const proxy = new Proxy(
    {},
    {
      get: (_target, name) => {
        asked.push(`get ${String(name)}`);
        return 'user-1';
      },
      has: (_target, name) => {
        asked.push(`has ${String(name)}`);
        return true;
      },
    },
  );

  expect(readProperty(proxy, 'userId')).toBe('user-1');
  expect(asked).toEqual(['get userId']);
});

test('methods are those of the object and of its class, and not of Object.prototype', () => {
  const judgeAll = () =>
    [new Row(), { sign: () => 'x' }, Object.assign(() => 'x', { sign: () => 'x' }), {}, { sign: 'x' }, null, 'x'].map(
      (value) => hasMethods(value, 'sign'),
    );
  const expected = [true, true, true, false, false, false, false];

  expect(judgeAll()).toEqual(expected);
  expect(polluted('sign', () => 'x', judgeAll)).toEqual(expected);
  expect(hasMethods(new Row(), 'sign', 'verify')).toBe(false);
  expect(hasMethods('a string', 'includes')).toBe(false);
});

test('a copy has the properties that are named, and of others that they are there', () => {
  const given = Object.assign(new Row(), { typo: 'x' });

  const copy = copyProperties(given, ['userId', 'jobId']);

  expect(Object.entries(copy)).toEqual([
    ['userId', 'user-1'],
    ['jobId', undefined],
    ['typo', null],
  ]);
  expect(polluted('maxRetries', 5, () => copy.maxRetries)).toBeUndefined();
  expect(Object.keys(copyProperties(JSON.parse('{"__proto__": 1}') as object, []))).toEqual(['__proto__']);
});

test('parsed JSON is an ordinary object, but for when Object.prototype is polluted', () => {
  const text = '{"a":{"b":[{"c":1}]},"d":null,"e":"text"}';
  const ordinary = detachFromPrototype(JSON.parse(text)) as { a: { b: object[] } };
  const detached = polluted('sec_key', 'x', () => detachFromPrototype(JSON.parse(text))) as typeof ordinary;

  expect([ordinary, ordinary.a, ordinary.a.b[0]].map(Object.getPrototypeOf)).toEqual(Array(3).fill(Object.prototype));
  expect([detached, detached.a, detached.a.b[0] as object].map(Object.getPrototypeOf)).toEqual(Array(3).fill(null));
  expect(Object.getPrototypeOf(detached.a.b)).toBe(Array.prototype);
  expect(JSON.stringify(detached)).toBe(text);
});

test('what stands on Object.prototype is found by its name, whether it can be enumerated or not', () => {
  expect(shadowPollution()).toEqual({});

  expect(Object.entries(polluted('headers', 'x', shadowPollution))).toEqual([['headers', undefined]]);
});

test('a name that takes the place of a standard one is found', () => {
  const standard = Object.getOwnPropertyDescriptor(Object.prototype, '__lookupSetter__') as PropertyDescriptor;
  delete (Object.prototype as { __lookupSetter__?: unknown }).__lookupSetter__;
  const shadows = polluted('headers', 'x', shadowPollution);
  Object.defineProperty(Object.prototype, '__lookupSetter__', standard);

  expect(Object.keys(shadows)).toEqual(['headers']);
  expect(shadowPollution()).toEqual({});
});

test('an object that throws when it is read is not copied', () => {
  const throwing = {
    get userId(): string {
      throw new Error('not yours to read');
    },
  };

  expect(tryCopyProperties(throwing, ['userId'])).toBeNull();
  expect(tryCopyProperties({ userId: 'user-1' }, ['userId'])).toEqual({ userId: 'user-1' });
});

test('JSON is written as the objects are, whatever toJSON stands on a prototype of all', () => {
  const value = { list: [1, { a: new Date(0) }], text: 'x', nothing: null, custom: { toJSON: () => 'own' } };
  const expected = '{"list":[1,{"a":"1970-01-01T00:00:00.000Z"}],"text":"x","nothing":null,"custom":"own"}';
  const planted = () => 'planted';

  expect(writeJson(value)).toBe(expected);
  expect(polluted('toJSON', planted, () => writeJson(value))).toBe(expected);
  expect(polluted('toJSON', planted, () => writeJson(value), Array.prototype)).toBe(expected);
});
