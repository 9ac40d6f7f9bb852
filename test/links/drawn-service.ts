/**
 * Services drawn at random. Their lists are in some order, their dates are exact, coarse or missing, their totals may be
 * wrong, and their lists may change between two requests.
 */

import { randomFrom } from '../support/random.js';
import { type Pager, pageOf } from './page-service.js';

/** A link of a drawn service. `created` is the time at which it was created, whatever the service shows. */
interface DrawnLink {
  readonly ref: string;
  readonly created: number;
  readonly shown: string | null;
  readonly isWanted: boolean;
  /** Whether the list shows its name. */
  readonly isNamed: boolean;
  /** Its place in the list, and its place among links with the same `key`. */
  readonly key: number;
  readonly tie: number;
}

/** What decides where a link is listed. */
interface Listed {
  readonly created: number;
  /** A random number from 0 to 1. */
  readonly draw: number;
}

const honestOrders = ['newest first', 'oldest first'] as const;

const orders = {
  'newest first': ({ created }: Listed) => -created,
  'oldest first': ({ created }: Listed) => created,
  'newest hour first': ({ created }: Listed) => -Math.floor(created / 3_600_000),
  'last updated first': ({ created, draw }: Listed) => -created - (draw < 0.1 ? draw * 3e9 : 0),
  'disabled last': ({ created, draw }: Listed) => (draw < 0.3 ? 1e15 : 0) - created,
  none: ({ draw }: Listed) => draw,
  'of creation': () => 0,
};

type Order = keyof typeof orders;

const changes = [
  ...(['none', 'adds', 'adds late', 'removes', 'adds or removes'] as const),
  ...(['replaces one', 'replaces the oldest', 'moves'] as const),
];
const units = [1_000, 60_000, 3_600_000, 86_400_000] as const;
const lies = ['none', 'count', 'pages', 'count and pages', 'zero', 'short pages', 'overlapping pages'] as const;

interface Traits {
  readonly order: Order;
  readonly change: (typeof changes)[number];
  readonly lie: (typeof lies)[number];
  /** Dates are in multiples of `unit` ms, and this share of them in multiples of `coarseUnit`. */
  readonly unit: number;
  readonly coarse: number;
  readonly coarseUnit: number;
  /** This share of the links has no date. */
  readonly undated: number;
  /** This share of the links is listed without its name. */
  readonly unnamed: number;
  /** After how many requests the list changes; null if it may change after each. */
  readonly changesOnce: number | null;
  /** Whether links with the same key change places between two requests. */
  readonly isUnstable: boolean;
}

export function drawService(seed: number) {
  const random = randomFrom(seed);
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const pick = <T>(values: readonly T[]): T => values[upTo(values.length - 1)] as T;

  const rate = pick([0, 0.15, 0.15, 0.3, 0.5]);
  const deviate = <T>(honest: T, other: () => T): T => (random() < rate ? other() : honest);
  const drawn: Traits = {
    order: deviate<Order>(pick(honestOrders), () => pick(Object.keys(orders) as Order[])),
    // Many lists gain and lose links, so that links which were added must be counted apart from those that were removed.
    change: pick([deviate<Traits['change']>('none', () => pick(changes)), 'none', 'adds or removes']),
    lie: deviate<Traits['lie']>('none', () => pick(lies)),
    unit: deviate(pick([1, 1, 1, 1_000]), () => pick(units)),
    coarse: deviate(0, () => pick([0.02, 0.3])),
    coarseUnit: pick(units),
    undated: deviate(0, () => pick([0.02, 0.3, 1])),
    unnamed: deviate(0, () => pick([0.02, 0.3, 1])),
    changesOnce: pick([null, 1 + upTo(9)]),
    isUnstable: deviate(false, () => true),
  };
  const gap = pick([20, 700, 5_000, 90_000, 3_600_000]);
  const size = pick([1, 2, 3, 6, 20]);
  // A list of more pages is refused, because it is read twice.
  const mostPages = pick([1, 2, 3, 5, 10, 10, 10]);
  const fullPages = pick([0, upTo(3), upTo(mostPages - 1), mostPages - 1, mostPages, mostPages + upTo(mostPages * 2)]);
  const count = fullPages * size + upTo(size);
  const base = pick([0, 1] as const);
  const pageCount = Math.ceil(count / size);
  const wrongBy = pick([-3, -1, 1, 3]);
  const { order, change, lie, unit, coarse, coarseUnit, undated, unnamed, isUnstable, changesOnce } = drawn;

  // A search is mostly for a link near the newest end, or near the edge of a page.
  const pickRank = () => pick([0, 1, size - 1, size, size + 1, size * 2, size * 3 - 1, upTo(count)]);
  const rank = pickRank();
  const others = pick([0, 0, 0.05, 0.5]);
  const changeRate = pick([0.1, 0.4, 1]);
  const shareWanted = (index: number) => {
    if (index >= count) return 0.3;
    const newest = count - 1 - rank;
    return index === newest ? 0.8 : index < newest ? others : 0;
  };

  const all: DrawnLink[] = [];
  let time = Date.parse('2026-01-05T09:00:00.000Z') + upTo(120_000);
  const add = (late = 0): DrawnLink => {
    time += 1 + upTo(gap * 2);
    const index = all.length;
    const created = time - late;
    const shownUnit = random() < coarse ? coarseUnit : unit;
    const date = Math.floor(created / shownUnit) * shownUnit;
    const link: DrawnLink = {
      ref: `ref-${index}`,
      created,
      shown: random() < undated ? pick([null, '', 'today']) : new Date(date).toISOString(),
      isWanted: random() < shareWanted(index),
      isNamed: random() >= unnamed,
      key: orders[order]({ created, draw: random() }),
      tie: order === 'of creation' ? 0 : random(),
    };
    all.push(link);
    return link;
  };
  // A link that is listed some time after it was created, in the order of the list, or first, last or anywhere.
  const addLate = (): DrawnLink => {
    const link = add(1 + pick([0, upTo(900), upTo(5_000), upTo(gap * size * 3)]));
    const [first, last] = [present[0], present.at(-1)];
    const places = [link.key, (first?.key ?? 0) - 1, (last?.key ?? 0) + 1, present[upTo(present.length - 1)]?.key ?? 0];
    return { ...link, key: pick(places) };
  };
  const sort = (links: readonly DrawnLink[]) =>
    links.toSorted((one, other) => one.key - other.key || one.tie - other.tie);

  let present = sort(Array.from({ length: count }, () => add()));
  const before = present;
  // Whether the totals show every change: not if links are removed and added between two requests.
  let isCounted = lie === 'none';
  // Whether both totals are wrong by whole pages, so that they agree with the links on the pages that they leave.
  let isHidden = false;
  const edge = all[count - 1 - pick([rank, rank, pickRank()])];
  const offset = pick([-60_000, -700, -1, 0, 1, -gap, gap]);
  const createdAfter = edge && random() < 0.6 ? edge.created + offset : undefined;

  /** The place of a link that was updated or disabled now. */
  function moveKey(key: number): number {
    if (order === 'last updated first') return -time;
    if (order === 'disabled last') return Math.abs(key);
    return order === 'none' ? random() : key;
  }

  function changeList(): void {
    const one = present[pick([0, upTo(size), present.length - 1, upTo(present.length - 1)])];
    const [oldest] = present.toSorted((link, other) => link.created - other.created);
    const without = (link: DrawnLink | undefined) => present.filter((other) => other !== link);
    if (change === 'adds' || (change === 'adds or removes' && random() < 0.5)) present = sort([...present, add()]);
    else if (change === 'adds late') present = sort([...present, addLate()]);
    else if (change === 'removes' || change === 'adds or removes') present = without(one);
    else if (change === 'replaces one') present = sort([...without(one), add()]);
    else if (change === 'replaces the oldest') present = sort([...without(oldest), add()]);
    else if (change === 'moves' && one) present = sort([...without(one), { ...one, key: moveKey(one.key) }]);
  }

  const pager: Pager = (page = base, requests) => {
    const changesNow = changesOnce === null ? requests > 0 && random() < changeRate : requests === changesOnce;
    const previous = present;
    if (changesNow) for (let times = pick([1, 1, 2, size]); times > 0; times--) changeList();
    const stayed = countStayed(previous, present);
    if (stayed < previous.length && stayed < present.length) isCounted = false;
    if (lie === 'count and pages' && present.length % size === 0) isHidden = true;
    if (isUnstable) present = sort(present.map((link) => ({ ...link, tie: random() })));
    const { links, meta } = pageOf(present.map(toWire), page, { base, size });
    const start = (page - base) * size;
    if (lie === 'zero') return { links, meta: { ...meta, totalCount: 0, totalPages: 0 } };
    if (lie === 'short pages') return { links: links.slice(links.length > 1 ? 1 : 0), meta };
    if (lie === 'overlapping pages' && start > 0) {
      const previous = present.slice(start - 1, start).map(toWire);
      return { links: [...previous, ...links.slice(0, size - 1)], meta };
    }
    const missing = lie === 'count' ? wrongBy : lie === 'count and pages' ? wrongBy * size : 0;
    return {
      links,
      meta: {
        ...meta,
        totalCount: Math.max(0, present.length + missing),
        totalPages: Math.max(0, Math.ceil(present.length / size) + (lie.includes('pages') ? wrongBy : 0)),
      },
    };
  };

  /**
   * The links that are searched for, and were listed from before the search until after it, oldest first. Also those
   * that were added during the search, if the totals say so.
   */
  function listWanted(): readonly DrawnLink[] {
    const now = new Set(present.map(({ ref }) => ref));
    const fits = ({ ref, isWanted, created }: DrawnLink) => now.has(ref) && isWanted && created >= (createdAfter ?? 0);
    return (isCounted ? present : before).filter(fits).toSorted((one, other) => one.created - other.created);
  }

  /** Whether the list is in order, dated, counted and unchanged, and its dates show which of its links is the result. */
  function isPlain(): boolean {
    const times = before.filter(({ isWanted }) => isWanted).map(({ created }) => created);
    if (createdAfter !== undefined) times.push(createdAfter);
    const gaps = times.toSorted((one, other) => one - other).map((time, index, all) => time - (all[index - 1] ?? 0));
    const isHonest = change === 'none' && lie === 'none' && unit <= 1_000 && coarse + undated + unnamed === 0;
    // A date without seconds may be any second of its minute.
    const isExact = before.every(({ shown }) => !shown?.endsWith(':00.000Z'));
    return (
      isHonest && isExact && (honestOrders as readonly Order[]).includes(order) && gaps.every((gap) => gap > 60_000)
    );
  }

  /** Whether the list is short enough, and one link is clearly the newest. */
  function isReadable(): boolean {
    const newest = all[count - 1]?.created ?? 0;
    return pageCount <= mostPages && newest - (all[count - 2]?.created ?? 0) > 2_000;
  }

  return {
    pager,
    query: { name: 'wanted', ...(createdAfter === undefined ? {} : { createdAfter: new Date(createdAfter) }) },
    maxPages: 2 * mostPages,
    firstPage: pick([base, 'auto'] as const),
    linkOf: (ref: string) => all.find((link) => link.ref === ref),
    listWanted,
    mustSucceed: isPlain() && isReadable(),
    /** Whether the totals and the links cannot contradict each other. */
    isConsistent: () => isCounted && changesOnce !== null && !isUnstable && change !== 'moves',
    isHidden: () => isHidden,
    description: { ...drawn, gap, size, mostPages, count, rank, others, changeRate, wrongBy, base, createdAfter },
  };
}

function countStayed(before: readonly DrawnLink[], now: readonly DrawnLink[]): number {
  if (before === now) return now.length;
  const refs = new Set(before.map(({ ref }) => ref));
  return now.filter(({ ref }) => refs.has(ref)).length;
}

function toWire({ ref, shown, isWanted, isNamed }: DrawnLink): object {
  return {
    ...{ link_url: `https://links.hosted.test/${ref}`, ref_id: ref },
    ...{ ...(isNamed && { name: isWanted ? 'wanted' : 'other' }), created_at: shown },
  };
}
