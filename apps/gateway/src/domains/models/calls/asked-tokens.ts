import type { PictureSize } from '@berth/contract/picture-size'
import { guessTokens, LETTERS_PER_TOKEN, TOKENS_AROUND } from '@berth/contract/token-guess'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { WordsBody } from './chat-body.ts'

/** What most models make of pictures, where the catalogue does not say it. */
const PIXELS_PER_TOKEN = 784
const PICTURE_TOKENS_MAX = 16_384
/** No model makes more of a picture. */
const PIXELS_PER_TOKEN_MIN = 196
const PICTURE = /^"data:image\//
const HEAD_BYTES = 16

type Limits = NonNullable<CatalogueModel['image_input']>

/** What a picture counts as where its server does not say it, and at the most. */
export function pictureTokens(
  { width, height }: PictureSize,
  { pixels_per_token = PIXELS_PER_TOKEN, tokens_max = PICTURE_TOKENS_MAX }: Partial<Limits>,
): { about: number; most: number } {
  const most = (pixels: number, perToken: number) => Math.min(tokens_max, Math.ceil(pixels / perToken))
  const pixels = width * height
  return {
    about: most(pixels, pixels_per_token),
    most: most(pixels, Math.min(pixels_per_token, PIXELS_PER_TOKEN_MIN)),
  }
}

/**
 * How many tokens the words of a question have, about: its texts alone, without what JSON has around them, and without its
 * pictures.
 * @param texts Long ones, by their marks.
 */
export function askedTokens(body: WordsBody, texts: ReadonlyMap<string, Buffer>): number {
  const {
    messages = [],
    prompt,
    tools,
    functions,
    response_format,
  } = body as Partial<Record<'tools' | 'functions' | 'response_format', unknown>> &
    Pick<WordsBody, 'messages' | 'prompt'>
  const words = [messages, prompt, tools, functions, response_format].map(part => wordsTokens(part, texts))
  return words.reduce((sum, one) => sum + one, messages.length * TOKENS_AROUND)
}

/** Tokens of all texts that a value holds; a number is a token by itself, as where a text comes in tokens. */
export function wordsTokens(value: unknown, texts: ReadonlyMap<string, Buffer> = new Map()): number {
  let tokens = 0
  // What is read of JSON has been held to so many levels.
  const visit = (one: unknown, key: string): void => {
    if (typeof one === 'string') tokens += NAMES.has(key) ? 0 : textTokens(one, texts)
    else if (typeof one === 'number') tokens += 1
    else if (Array.isArray(one)) for (const part of one) visit(part, key)
    else if (typeof one === 'object' && one !== null)
      for (const [name, part] of Object.entries(one)) visit(part, name)
  }
  visit(value, '')
  return tokens
}

/** Fields that say what a part is, in words of the protocol. */
const NAMES = new Set(['role', 'type', 'id', 'tool_call_id', 'detail', 'image_url', 'url'])

function textTokens(text: string, texts: ReadonlyMap<string, Buffer>): number {
  const long = texts.get(text)
  if (long === undefined) return guessTokens(text)
  if (PICTURE.test(long.toString('latin1', 0, HEAD_BYTES))) return 0
  // A long text is not made into a string for that.
  return Math.ceil(long.length / LETTERS_PER_TOKEN)
}
