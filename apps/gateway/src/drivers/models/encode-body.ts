import type { ModelRequest } from './port.ts'

/**
 * A body as it is sent: JSON with its long texts in their places, which are copied and not looked at.
 * @param fields What stands instead of the body's own, such as the model by another name.
 */
export function encodeBody({ body, texts }: ModelRequest, fields: Record<string, unknown>): Buffer {
  return encodeValue({ ...body, ...fields }, texts)
}

/** The same of a part of a body. */
export function encodeValue(value: object, texts: ModelRequest['texts']): Buffer {
  const json = JSON.stringify(value)
  if (texts.size === 0) return Buffer.from(json)
  const pieces: Uint8Array[] = []
  let from = 0
  for (const { mark, at } of marksIn(json, texts)) {
    pieces.push(Buffer.from(json.slice(from, at)), texts.get(mark) ?? Buffer.alloc(0))
    from = at + mark.length + QUOTES
  }
  pieces.push(Buffer.from(json.slice(from)))
  return Buffer.concat(pieces)
}

const QUOTES = 2

function marksIn(json: string, texts: ModelRequest['texts']): { mark: string; at: number }[] {
  const found: { mark: string; at: number }[] = []
  for (const mark of texts.keys()) {
    const quoted = `"${mark}"`
    for (let at = json.indexOf(quoted); at !== -1; at = json.indexOf(quoted, at + quoted.length)) {
      found.push({ mark, at })
    }
  }
  return found.toSorted((a, b) => a.at - b.at)
}
