import { createHash } from 'node:crypto'
import type { ModelRequest } from '../port.ts'

const DIMENSIONS = 256
const DIMENSIONS_MAX = 4_096

/**
 * Vectors of texts: of length one, the same for the same text, and alike where texts share words. They know nothing of what
 * words mean.
 */
export function demoVectors({ body, texts }: Pick<ModelRequest, 'body' | 'texts'>): object {
  const { input } = body
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? (input as unknown[]) : [input]
  const size = Math.min(Number(body.dimensions ?? DIMENSIONS), DIMENSIONS_MAX)
  let tokens = 0
  const data = inputs.map((one, index) => {
    const words = wordsOf(one, texts)
    tokens += words.length
    const vector = vectorOf(words, size)
    const embedding =
      body.encoding_format === 'base64'
        ? Buffer.from(Float32Array.from(vector).buffer).toString('base64')
        : vector
    return { object: 'embedding', index, embedding }
  })
  return { object: 'list', data, usage: { prompt_tokens: tokens, total_tokens: tokens } }
}

function wordsOf(input: unknown, texts: ModelRequest['texts']): string[] {
  if (Array.isArray(input)) return input.map(String)
  const long = texts.get(String(input))
  const text = long === undefined ? String(input) : Buffer.from(long).toString('utf8')
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]
}

function vectorOf(words: readonly string[], size: number): number[] {
  const sum = new Array<number>(size).fill(0)
  for (const word of words) {
    const bytes = createHash('shake256', { outputLength: size * 2 })
      .update(word)
      .digest()
    for (let at = 0; at < size; at++) sum[at] = (sum[at] ?? 0) + bytes.readInt16LE(at * 2)
  }
  const length = Math.hypot(...sum) || 1
  return sum.map(one => one / length)
}
