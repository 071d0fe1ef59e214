import { createHash } from 'node:crypto'
import type { PictureOrder } from './demo-pictures.ts'
import { GLYPHS } from './glyphs.ts'

const CHANNELS = 3
const CIRCLES = 7
const LABEL = 'DEMO - NO MODEL IS CONNECTED'
const GLYPH_COLUMNS = 5
const GLYPH_ROWS = 7

type Color = readonly [number, number, number]

/**
 * Draws a picture of what is asked, the same for the same: a gradient and circles whose colours and places come of its words
 * and seed, and a line that says that no model drew it (B11).
 * @param moment Of a film, from 0 to 1: the circles go round and come back to where they were.
 * @returns Red, green and blue of each pixel, row by row.
 */
export function drawPicture(order: Omit<PictureOrder, 'model'>, moment = 0): Uint8Array {
  const { width, height } = order
  const chance = chanceOf(order)
  const [from, to] = [colorOf(chance), colorOf(chance)]
  const circles = Array.from({ length: CIRCLES }, () => ({
    x: chance() * width,
    y: chance() * height,
    radius: (0.06 + chance() * 0.22) * Math.min(width, height),
    color: colorOf(chance),
  }))
  for (const circle of circles)
    move(circle, { far: (0.05 + chance() * 0.2) * width, moment, phase: chance() })
  const data = new Uint8Array(width * height * CHANNELS)
  // Without an object for each pixel: a film has some ten million of them.
  for (let y = 0; y < height; y++) {
    const near = circles.filter(circle => Math.abs(y - circle.y) < circle.radius)
    for (let x = 0; x < width; x++) {
      const part = (x / width + y / height) / 2
      let red = mixed(from[0], to[0], part)
      let green = mixed(from[1], to[1], part)
      let blue = mixed(from[2], to[2], part)
      for (const { x: centre, y: middle, radius, color } of near) {
        const right = (x - centre) / radius
        const down = (y - middle) / radius
        const far = right * right + down * down
        if (far >= 1) continue
        const share = 0.35 + 0.5 * far
        red = mixed(color[0], red, share)
        green = mixed(color[1], green, share)
        blue = mixed(color[2], blue, share)
      }
      const at = (y * width + x) * CHANNELS
      data[at] = red
      data[at + 1] = green
      data[at + 2] = blue
    }
  }
  writeLabel(data, width, height)
  return data
}

/** Goes round, from where it stands. */
function move(
  circle: { x: number; y: number },
  { far, moment, phase }: { far: number; moment: number; phase: number },
): void {
  const [from, now] = [2 * Math.PI * phase, 2 * Math.PI * (phase + moment)]
  circle.x += far * (Math.cos(now) - Math.cos(from))
  circle.y += far * (Math.sin(now) - Math.sin(from))
}

/** A bar at the foot with the words in it, as large as they fit. */
function writeLabel(data: Uint8Array, width: number, height: number): void {
  const columns = LABEL.length * (GLYPH_COLUMNS + 1) + 3
  const scale = Math.max(1, Math.floor(width / columns))
  const barRows = Math.min(height, (GLYPH_ROWS + 4) * scale)
  const top = height - barRows
  for (let y = top; y < height; y++) {
    for (let x = 0; x < width; x++) data.set([20, 24, 33], (y * width + x) * CHANNELS)
  }
  ;[...LABEL].forEach((letter, index) => {
    const rows = GLYPHS[letter] ?? []
    rows.forEach((bits, row) => {
      for (let column = 0; column < GLYPH_COLUMNS; column++) {
        if (((bits >> (GLYPH_COLUMNS - 1 - column)) & 1) === 0) continue
        const x = (2 + index * (GLYPH_COLUMNS + 1) + column) * scale
        fill(data, { x, y: top + (2 + row) * scale, size: scale }, { width, height })
      }
    })
  })
}

function fill(
  data: Uint8Array,
  { x, y, size }: { x: number; y: number; size: number },
  { width, height }: { width: number; height: number },
): void {
  for (let row = y; row < Math.min(height, y + size); row++) {
    for (let column = x; column < Math.min(width, x + size); column++) {
      data.set([235, 238, 245], (row * width + column) * CHANNELS)
    }
  }
}

function mixed(a: number, b: number, part: number): number {
  return Math.round(a * (1 - part) + b * part)
}

function colorOf(chance: () => number): Color {
  return [40 + chance() * 200, 40 + chance() * 200, 40 + chance() * 200]
}

/** Numbers from 0 to 1, the same for the same order. */
function chanceOf({ prompt, seed, number }: Pick<PictureOrder, 'prompt' | 'seed' | 'number'>): () => number {
  const bytes = createHash('shake256', { outputLength: 4 * 64 })
    .update(JSON.stringify([prompt, seed, number]))
    .digest()
  let at = 0
  return () => {
    const value = bytes.readUInt32LE(at) / 2 ** 32
    at = (at + 4) % bytes.length
    return value
  }
}
