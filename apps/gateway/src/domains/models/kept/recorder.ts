import { jsonOf } from '../calls/asked-json.ts'
import { dataOf } from '../calls/event-reader.ts'
import type { Lifted } from '../calls/long-texts.ts'

/** What is kept of a question and of an answer, in letters; what is longer is cut. */
export const KEPT_CHARS_MAX = 100_000
/** Pictures are not kept: they are large, and stand in the question. */
const PICTURE = /data:(image\/[\w.+-]{1,40});base64,[A-Za-z0-9+/=\\]*/g

/** What a call asked and was answered, as far as it is kept. */
export interface KeptBody {
  question: string
  answer: string
  /** Whether either was longer. */
  isCut: boolean
}

/** Writes along what a call asks and is answered. */
export interface Recorder {
  /** An event of an answer that is streamed. */
  event(event: Buffer): void
  /** An answer that came whole, as its JSON. */
  whole(answer: Record<string, unknown> | null): void
  body(): KeptBody
}

/** @param question As JSON. */
export function createRecorder(question: string): Recorder {
  let answer = ''
  const add = (text: string) => {
    // One letter more than is kept tells that there were more.
    if (answer.length <= KEPT_CHARS_MAX) answer += text.slice(0, KEPT_CHARS_MAX + 1 - answer.length)
  }
  return {
    event(event) {
      if (answer.length > KEPT_CHARS_MAX) return
      const { choices } = jsonOf(dataOf(event) ?? '') ?? {}
      if (Array.isArray(choices)) for (const choice of choices) add(wordsOf(choice))
    },
    whole(said) {
      const choices = Array.isArray(said?.choices) ? said.choices : []
      add(choices.map(wordsOf).join('\n\n'))
    },
    body: () => ({
      question: question.slice(0, KEPT_CHARS_MAX),
      answer: answer.slice(0, KEPT_CHARS_MAX),
      isCut: question.length > KEPT_CHARS_MAX || answer.length > KEPT_CHARS_MAX,
    }),
  }
}

/** What one choice of an answer, or a piece of it, says. */
function wordsOf(choice: unknown): string {
  const { delta, message, text } = (choice ?? {}) as Record<string, Record<string, unknown> | undefined>
  if (typeof text === 'string') return text
  const said = delta ?? message ?? {}
  const words = ['reasoning_content', 'reasoning', 'content', 'refusal'].map(name => said[name])
  const calls = Array.isArray(said.tool_calls) ? said.tool_calls.map(callOf) : []
  return [...words, ...calls].filter(one => typeof one === 'string').join('')
}

function callOf(call: unknown): string {
  const { name, arguments: given } =
    (call as { function?: { name?: unknown; arguments?: unknown } } | null)?.function ?? {}
  return `${typeof name === 'string' ? `\n${name} ` : ''}${typeof given === 'string' ? given : ''}`
}

/** A question as it is kept: with its long texts where their marks are, and without its pictures. */
export function keptQuestion({ json, texts }: Lifted): string {
  let text = json.toString('utf8')
  for (const [mark, quoted] of texts) {
    const isPicture = quoted.toString('latin1', 0, 12).startsWith('"data:image/')
    const shown = isPicture ? `"[${quoted.length} bytes]"` : quoted.toString('utf8', 0, 4 * KEPT_CHARS_MAX)
    text = text.replace(`"${mark}"`, () => shown)
  }
  return text.replace(PICTURE, '[$1]')
}
