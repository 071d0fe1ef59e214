import type { Ids } from '../../../platform/ids.ts'

/** A text of so many bytes is set apart: longer than what people write, and shorter than any picture. */
const LONG_BYTES = 16_384
const QUOTE = 0x22
const BACKSLASH = 0x5c
const MARK_BYTES = 12

/** JSON whose long texts are marks, and those texts. */
export interface Lifted {
  json: Buffer
  /** By their marks, each as it stood, with its quotes. */
  texts: Map<string, Buffer>
}

/**
 * Sets long texts of a JSON text apart, so that what is parsed is small however many pictures it holds: they are gone over by
 * the platform's own search for quotes, and never made into strings.
 * @param json Whatever came: what is no JSON is none afterwards, either.
 */
export function liftLongTexts(json: Buffer, ids: Pick<Ids, 'secret'>): Lifted {
  const texts = new Map<string, Buffer>()
  if (json.length < LONG_BYTES) return { json, texts }
  // Nobody who sends a text knows what a mark will be.
  const name = ids.secret(MARK_BYTES)
  const pieces: Buffer[] = []
  let from = 0
  for (let start = json.indexOf(QUOTE); start !== -1; ) {
    const end = endOfText(json, start)
    if (end === -1) break
    if (end - start > LONG_BYTES) {
      const mark = `${name}-${texts.size}`
      texts.set(mark, json.subarray(start, end))
      pieces.push(json.subarray(from, start), Buffer.from(`"${mark}"`))
      from = end
    }
    start = json.indexOf(QUOTE, end)
  }
  if (texts.size === 0) return { json, texts }
  pieces.push(json.subarray(from))
  return { json: Buffer.concat(pieces), texts }
}

/** Behind the quote that ends a text; -1 where none does. */
function endOfText(json: Buffer, start: number): number {
  for (let quote = json.indexOf(QUOTE, start + 1); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (json[quote - 1 - slashes] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return quote + 1
  }
  return -1
}
