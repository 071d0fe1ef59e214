import { encode } from 'fast-png'
import type { Dice } from './captcha-dice.ts'
import { GLYPHS, type Point, type Stroke } from './captcha-glyphs.ts'

/** Casdoor's size, in pixels. */
export const PICTURE = { width: 200, height: 80 } as const

const MARGIN_PX = 22
const PAPER = 232
const INK = 52

/**
 * Draws digits so that people read them and simple programs do not: each is turned, leaned, stretched and moved in its
 * own way, the whole is bent by two waves, lines of the same ink join neighbours and lines of paper cut through them,
 * so that neither cutting the picture into digits nor comparing them with a font works.
 * @param digits Such as `40713`.
 * @param dice What chooses the distortion.
 * @returns A PNG, in grey.
 */
export function drawDigits(digits: string, dice: Dice): Uint8Array {
  const ink = new Float32Array(PICTURE.width * PICTURE.height)
  const bend = bendBy(dice)
  const step = (PICTURE.width - 2 * MARGIN_PX) / Math.max(1, digits.length - 1)
  ;[...digits].forEach((digit, index) => {
    const place = placeAt(MARGIN_PX + index * step, dice)
    const radius = dice.between(2, 3.1)
    for (const stroke of GLYPHS[Number(digit)] ?? []) {
      paint(ink, finely(stroke.map(place)).map(bend), radius, 1)
    }
  })
  for (let count = 0; count < 2; count++) paint(ink, wavyLine(dice), dice.between(0.8, 1.3), 1)
  for (let count = 0; count < 3; count++) paint(ink, wavyLine(dice), dice.between(0.6, 0.9), 0)
  return encode({ ...PICTURE, data: develop(ink, dice), channels: 1, depth: 8 })
}

/** Takes a digit's box to its place on the picture. */
function placeAt(centreX: number, dice: Dice): (point: Point) => Point {
  const height = dice.between(40, 52)
  const width = height * dice.between(0.52, 0.7)
  const turn = dice.between(-0.33, 0.33)
  const lean = dice.between(-0.22, 0.22)
  const centre = { x: centreX + dice.between(-3, 3), y: PICTURE.height / 2 + dice.between(-7, 7) }
  return ({ x, y }) => {
    const up = (y - 0.5) * height
    const across = (x - 0.5) * width - lean * up
    return {
      x: centre.x + across * Math.cos(turn) - up * Math.sin(turn),
      y: centre.y + across * Math.sin(turn) + up * Math.cos(turn),
    }
  }
}

/** Two waves that bend everything that is drawn. */
function bendBy(dice: Dice): (point: Point) => Point {
  const wave = (strength: number) => {
    const length = dice.between(34, 62)
    const phase = dice.between(0, 2 * Math.PI)
    return (at: number) => strength * Math.sin((2 * Math.PI * at) / length + phase)
  }
  const across = wave(dice.between(1.5, 2.8))
  const up = wave(dice.between(1.5, 3.2))
  return ({ x, y }) => ({ x: x + across(y), y: y + up(x) })
}

function wavyLine(dice: Dice): Point[] {
  const [from, to] = [dice.between(12, 68), dice.between(12, 68)]
  const strength = dice.between(4, 12)
  const length = dice.between(60, 150)
  const phase = dice.between(0, 2 * Math.PI)
  const points: Point[] = []
  for (let x = 0; x <= PICTURE.width; x += 4) {
    const level = from + ((to - from) * x) / PICTURE.width
    points.push({ x, y: level + strength * Math.sin((2 * Math.PI * x) / length + phase) })
  }
  return points
}

/** Cuts long pieces, so that they bend too. */
function finely(stroke: Stroke): Point[] {
  return stroke.flatMap((point, index) => {
    const next = stroke[index + 1]
    if (!next) return [point]
    const parts = Math.max(1, Math.ceil(Math.hypot(next.x - point.x, next.y - point.y) / 4))
    return Array.from({ length: parts }, (_, part) => ({
      x: point.x + ((next.x - point.x) * part) / parts,
      y: point.y + ((next.y - point.y) * part) / parts,
    }))
  })
}

/** Draws a stroke with a soft edge; with ink (1), or with paper (0) over ink. */
function paint(ink: Float32Array, stroke: Stroke, radius: number, colour: 0 | 1): void {
  stroke.slice(1).forEach((end, index) => {
    const start = stroke[index]
    if (!start) return
    const reach = radius + 1
    const left = Math.max(0, Math.floor(Math.min(start.x, end.x) - reach))
    const right = Math.min(PICTURE.width - 1, Math.ceil(Math.max(start.x, end.x) + reach))
    const top = Math.max(0, Math.floor(Math.min(start.y, end.y) - reach))
    const bottom = Math.min(PICTURE.height - 1, Math.ceil(Math.max(start.y, end.y) + reach))
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const cover = Math.min(1, Math.max(0, radius + 0.5 - distance({ x, y }, start, end)))
        const at = y * PICTURE.width + x
        const old = ink[at] ?? 0
        ink[at] = colour === 1 ? Math.max(old, cover) : Math.min(old, 1 - cover)
      }
    }
  })
}

function distance(point: Point, start: Point, end: Point): number {
  const [dx, dy] = [end.x - start.x, end.y - start.y]
  const squared = dx * dx + dy * dy
  const along = squared === 0 ? 0 : ((point.x - start.x) * dx + (point.y - start.y) * dy) / squared
  const t = Math.min(1, Math.max(0, along))
  return Math.hypot(point.x - start.x - t * dx, point.y - start.y - t * dy)
}

/** Ink on uneven paper, with specks of both. */
function develop(ink: Float32Array, dice: Dice): Uint8Array {
  const shade = { x: dice.between(-0.12, 0.12), y: dice.between(-0.25, 0.25) }
  return Uint8Array.from(ink, (cover, at) => {
    const x = (at % PICTURE.width) - PICTURE.width / 2
    const y = Math.floor(at / PICTURE.width) - PICTURE.height / 2
    const paper = PAPER + shade.x * x + shade.y * y
    const speck = dice.below(40) === 0 ? dice.between(-90, 60) : 0
    const grey = paper + (INK - paper) * cover + dice.between(-9, 9) + speck
    return Math.min(255, Math.max(0, Math.round(grey)))
  })
}
