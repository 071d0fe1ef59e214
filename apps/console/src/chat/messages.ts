import { type CodeMessage, GREETING } from '@berth/contract/model-code'
import type { Draft } from './draft.ts'
import type { Prompt, Turn } from './turns.ts'

/** A message of OpenAI's protocol. */
export interface Message {
  role: 'system' | 'user' | 'assistant'
  content: string | readonly Part[]
}
type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

/**
 * What a model is sent: of what was said before only what it was asked and has answered itself, so that no model is
 * shown what another one said.
 * @param turns Those before, in their order.
 * @param prompt What it is asked now.
 * @param system What it is told before all else; empty for nothing.
 */
export function messagesFor(
  modelId: string,
  turns: readonly Turn[],
  prompt: Prompt,
  system: string,
): Message[] {
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...turns.flatMap(turn => earlierOf(modelId, turn)),
    asked(prompt),
  ]
}

/**
 * The same as a program shows it: its texts, and a greeting where nothing is typed yet.
 * @param draft What is typed, and what the model is told before all else.
 */
export function shownMessages(
  modelId: string,
  turns: readonly Turn[],
  { text, system }: Pick<Draft, 'text' | 'system'>,
): CodeMessage[] {
  const prompt = { text: text.trim() === '' ? GREETING : text, pictures: [] }
  return messagesFor(modelId, turns, prompt, system).map(({ role, content }) => ({
    role,
    content: wordsOf(content),
  }))
}

function wordsOf(content: Message['content']): string {
  if (typeof content === 'string') return content
  return content.flatMap(part => (part.type === 'text' ? part.text : [])).join('')
}

function earlierOf(modelId: string, { prompt, answers }: Turn): Message[] {
  const text = answers[modelId]?.text ?? ''
  return text === '' ? [] : [asked(prompt), { role: 'assistant', content: text }]
}

function asked({ text, pictures }: Prompt): Message {
  if (pictures.length === 0) return { role: 'user', content: text }
  const parts = pictures.map(({ address }) => ({ type: 'image_url' as const, image_url: { url: address } }))
  return { role: 'user', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...parts] }
}
