/** A question as the local model takes it. */
export interface AskedChat {
  history: HistoryItem[]
  stream: boolean
  tellsUsage: boolean
  maxTokens: number | null
  temperature: number
  topP: number
  seed: number | null
  stops: string[]
}

/** As `node-llama-cpp` writes a chat down. */
export type HistoryItem = { type: 'system' | 'user'; text: string } | { type: 'model'; response: string[] }

/** What is asked cannot be done by this model, in words for whoever asked. */
export class NotForThisModel extends Error {}

const ROLES: Readonly<Record<string, 'system' | 'user' | 'model'>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'model',
}
const STOPS_MAX = 4

/**
 * Reads a question of OpenAI's protocol. The gateway has checked its shape.
 * @throws NotForThisModel for what a small model does not do: tools, pictures, several answers.
 */
export function readAskedChat(body: Record<string, unknown>): AskedChat {
  const messages = body.messages
  if (!Array.isArray(messages)) throw new NotForThisModel('This model is asked by messages.')
  if (Array.isArray(body.tools) && body.tools.length > 0)
    throw new NotForThisModel('This model calls no tools.')
  if (typeof body.n === 'number' && body.n > 1) throw new NotForThisModel('This model gives one answer.')
  const format = (body.response_format ?? null) as { type?: unknown } | null
  if (format && format.type !== 'text') throw new NotForThisModel('This model answers with text alone.')
  const options = (body.stream_options ?? {}) as { include_usage?: unknown }
  const number = (value: unknown, otherwise: number) => (typeof value === 'number' ? value : otherwise)
  const most = body.max_completion_tokens ?? body.max_tokens
  return {
    history: messages.map(itemOf),
    stream: body.stream === true,
    tellsUsage: options.include_usage === true,
    maxTokens: typeof most === 'number' ? most : null,
    temperature: number(body.temperature, 1),
    topP: number(body.top_p, 1),
    seed: typeof body.seed === 'number' ? Math.abs(Math.trunc(body.seed)) % 2 ** 31 : null,
    stops: [body.stop ?? []]
      .flat()
      .filter(stop => typeof stop === 'string' && stop !== '')
      .slice(0, STOPS_MAX) as string[],
  }
}

function itemOf(message: unknown): HistoryItem {
  const { role, content } = message as { role?: unknown; content?: unknown }
  const kind = ROLES[String(role)]
  if (!kind) throw new NotForThisModel(`This model takes no messages of the role ${String(role)}.`)
  const text = textOf(content)
  return kind === 'model' ? { type: kind, response: [text] } : { type: kind, text }
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : ''
  return content
    .map(part => {
      const { type, text } = part as { type?: unknown; text?: unknown }
      if (type !== 'text' || typeof text !== 'string')
        throw new NotForThisModel('This model reads text alone.')
      return text
    })
    .join('')
}
