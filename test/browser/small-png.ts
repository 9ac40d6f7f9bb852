/** Screenshots with at most 256 colors, which take a third of the space. */

import { crc32, deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';

/** Takes a screenshot of the whole page. Its page must allow requests for `data:` URLs. */
export async function takeSmallPicture(page: Page): Promise<Buffer> {
  const screenshot = (await page.screenshot({ fullPage: true })).toString('base64');
  const { width, height, base64 } = await page.evaluate(readPixels, screenshot);
  const pixels = Buffer.from(base64, 'base64');
  const colors = Array.from({ length: width * height }, (_, index) => pixels.readUInt32BE(index * 4) >>> 8);
  const counts = new Map<number, number>();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color);
  const palette = byCount.slice(0, 256);
  const places = new Map(byCount.map((color) => [color, nearest(color, palette)]));

  const rows = Buffer.alloc((width + 1) * height);
  for (const [index, color] of colors.entries()) {
    // Each row begins with a byte that says how it is filtered: 0, not at all.
    rows[index + Math.floor(index / width) + 1] = places.get(color) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each pixel, which is a place in the palette.
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Runs in the browser. */
async function readPixels(screenshot: string) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${screenshot}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
  context?.drawImage(image, 0, 0);
  const data = context?.getImageData(0, 0, image.width, image.height).data ?? new Uint8ClampedArray();
  const base64 = btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(''));
  return { width: image.width, height: image.height, base64 };
}

const channels = (color: number) => [color >>> 16, (color >>> 8) & 255, color & 255];

/** The place of the color in the palette that differs least. */
function nearest(color: number, palette: readonly number[]): number {
  const wanted = channels(color);
  const distances = palette.map((other) =>
    channels(other).reduce((sum, channel, index) => sum + (channel - (wanted[index] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
