import { MODEL_BODY_BYTES_MAX } from '@berth/contract/limits'
import type { Ids } from '../../../platform/ids.ts'

/** A text of so many bytes is set apart: longer than what people write, and shorter than any picture. */
const LONG_BYTES = 16_384
const QUOTE = 0x22
const BACKSLASH = 0x5c
const MARK_BYTES = 12
/** Quotes that stand so near to each other are found byte by byte: a native search of its own for each takes far longer. */
const NEAR_BYTES = 64

/** JSON whose long texts are marks, and those texts. */
export interface Lifted {
  json: Buffer
  /** By their marks, each as it stood, with its quotes. */
  texts: Map<string, Buffer>
}

/**
 * Sets long texts of a JSON text apart, so that what is parsed is small however many pictures it holds: they are gone over by
 * the platform's own search for quotes, and never made into strings.
 *
 * No picture has a quote within it, so that quotes are looked for in words alone, and it ends where those are too long.
 * @param json Whatever came: what is no JSON is none afterwards, either.
 * @returns Null where words pass `MODEL_BODY_BYTES_MAX`: what stands outside of long texts, and those up to their last quote.
 */
export function liftLongTexts(json: Buffer, ids: Pick<Ids, 'secret'>): Lifted | null {
  const texts = new Map<string, Buffer>()
  if (json.length < LONG_BYTES) return { json, texts }
  // Nobody who sends a text knows what a mark will be.
  const name = ids.secret(MARK_BYTES)
  const pieces: Buffer[] = []
  let from = 0
  /** Of what stands before `from`. */
  let wordBytes = 0
  for (let start = nextQuote(json, 0); start !== -1; ) {
    const left = MODEL_BODY_BYTES_MAX - wordBytes - (start - from)
    const text = left < 0 ? null : readText(json, start, left)
    if (text === null) return null
    if (text.end === -1) break
    if (text.end - start > LONG_BYTES) {
      const mark = `${name}-${texts.size}`
      texts.set(mark, json.subarray(start, text.end))
      pieces.push(json.subarray(from, start), Buffer.from(`"${mark}"`))
      wordBytes += start - from + text.wordBytes
      from = text.end
    }
    start = nextQuote(json, text.end)
  }
  if (wordBytes + json.length - from > MODEL_BODY_BYTES_MAX) return null
  if (texts.size === 0) return { json, texts }
  pieces.push(json.subarray(from))
  return { json: Buffer.concat(pieces), texts }
}

/**
 * A text that begins at `start`: where it is over, -1 for one that never is, and how much of it are surely words. Null where
 * those are too many.
 */
function readText(json: Buffer, start: number, bytesMax: number): { end: number; wordBytes: number } | null {
  let wordBytes = 0
  for (let quote = nextQuote(json, start + 1); quote !== -1; quote = nextQuote(json, quote + 1)) {
    let slashes = 0
    while (json[quote - 1 - slashes] === BACKSLASH && slashes <= bytesMax) slashes += 1
    if (wordBytes + slashes > bytesMax) return null
    if (slashes % 2 === 0) return { end: quote + 1, wordBytes }
    wordBytes = quote + 1 - start
    if (wordBytes > bytesMax) return null
  }
  return { end: -1, wordBytes }
}

function nextQuote(json: Buffer, from: number): number {
  const near = Math.min(json.length, from + NEAR_BYTES)
  for (let at = from; at < near; at++) if (json[at] === QUOTE) return at
  return near === json.length ? -1 : json.indexOf(QUOTE, near)
}
