import { chatCost } from '@berth/contract/models'
import * as z from 'zod'
import type { AnswerFailure } from './turns.ts'

/** What one event of an answer says; what it does not say is left out. */
export interface AnswerEvent {
  text?: string
  thought?: string
  isCut?: boolean
  cost?: { costMicro: string; input: number; output: number }
  failure?: AnswerFailure
}

const chunk = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: z
          .looseObject({
            content: z.string().nullish(),
            reasoning_content: z.string().nullish(),
            reasoning: z.string().nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  error: z.looseObject({ message: z.string().default(''), code: z.string().nullish() }).nullish(),
  berth: chatCost.nullish(),
})

/**
 * Reads an event of a model's answer, as OpenAI's protocol has it, and what the gateway says of its cost.
 * @param data As it came. What is no such event says nothing.
 */
export function readAnswerEvent(data: string): AnswerEvent {
  const read = chunk.safeParse(jsonOf(data))
  if (!read.success) return {}
  const { choices, error, berth } = read.data
  const [choice] = choices ?? []
  const { content, reasoning_content, reasoning } = choice?.delta ?? {}
  const thought = reasoning_content ?? reasoning
  return {
    ...(content ? { text: content } : {}),
    ...(thought ? { thought } : {}),
    ...(choice?.finish_reason === 'length' ? { isCut: true } : {}),
    ...(berth
      ? {
          cost: {
            costMicro: String(berth.cost_micro),
            input: berth.input_tokens,
            output: berth.output_tokens,
          },
        }
      : {}),
    ...(error ? { failure: failureOf(error.message, error.code ?? null) } : {}),
  }
}

/**
 * A failure, with by how much a question was too long, where its words say that: servers tell it in no other way.
 * @param message As it was said.
 * @param code Ours, or that of whoever was asked.
 */
export function failureOf(message: string, code: string | null): AnswerFailure {
  return { code, message, tokensTooMany: tokensTooMany(message) }
}

/** `maximum context length is 8192 tokens. However, … 9001 tokens`: the first is what there is room for. */
function tokensTooMany(message: string): number | null {
  if (!/context|too long/i.test(message)) return null
  const [room, asked] = [...message.matchAll(/(\d[\d,]*) tokens/g)].map(match =>
    Number((match[1] ?? '').replaceAll(',', '')),
  )
  return room !== undefined && asked !== undefined && asked > room ? asked - room : null
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
