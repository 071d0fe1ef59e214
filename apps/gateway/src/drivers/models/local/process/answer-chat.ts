import type { ServerResponse } from 'node:http'
import { createAtOnce } from '../../../../platform/at-once.ts'
import { systemClock } from '../../../../platform/clock.ts'
import { systemIds } from '../../../../platform/ids.ts'
import { type AskedChat, NotForThisModel } from './asked-chat.ts'
import { type LoadedModel, SEQUENCES } from './llama.ts'

/** Whoever comes when so many wait is told to come again. */
const WAITING_MAX = 16
const BUSY_SECONDS = 5
/** What a chat has around its messages, and a little to answer in. */
const ROOM_TOKENS = 64
const OK = 200
const BAD_REQUEST = 400
const TOO_MANY = 429

class TooBusy extends Error {}

/** Answers chats, so many at a time. */
export function createAnswerChat(model: LoadedModel) {
  const inTurn = createAtOnce(SEQUENCES, {
    waitingMax: WAITING_MAX,
    refuse() {
      throw new TooBusy('This model has too much to do.')
    },
  })

  async function speak(asked: AskedChat, name: string, response: ServerResponse): Promise<void> {
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    if (response.destroyed) return
    const { countTokens, contextTokens } = model
    const promptTokens = countTokens(asked.history.map(textOf).join('\n'))
    const left = contextTokens - promptTokens - ROOM_TOKENS
    if (left <= 0) {
      return refuse(response, BAD_REQUEST, {
        message: `This model has a context of ${contextTokens} tokens; the question has about ${promptTokens}.`,
        code: 'context_length_exceeded',
      })
    }
    const sequence = model.sequence()
    try {
      const before = sequence.tokenMeter.getState()
      const created = Math.floor(systemClock.now().getTime() / 1_000)
      const base = { id: `chatcmpl-${systemIds.uuid()}`, created, model: name }
      const send = (part: object) =>
        response.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...part })}\n\n`)
      const choice = (delta: object, finish: string | null) => ({
        choices: [{ index: 0, delta, finish_reason: finish }],
      })
      if (asked.stream) {
        response.writeHead(OK, { 'content-type': 'text/event-stream; charset=utf-8' })
        send(choice({ role: 'assistant', content: '' }, null))
      }
      // The last item is the one that the model speaks.
      const history = [...asked.history, { type: 'model' as const, response: [] }]
      const { response: text, metadata } = await model.chat(sequence).generateResponse(history, {
        maxTokens: Math.min(asked.maxTokens ?? left, left),
        ...{ temperature: asked.temperature, topP: asked.topP },
        ...(asked.seed !== null && { seed: asked.seed }),
        ...(asked.stops.length > 0 && { customStopTriggers: asked.stops }),
        ...{ signal: leaving.signal, stopOnAbortSignal: true },
        onTextChunk: (content: string) => {
          if (asked.stream && content !== '') send(choice({ content }, null))
        },
      })
      const { usedInputTokens, usedOutputTokens } = sequence.tokenMeter.diff(before)
      const finish = metadata.stopReason === 'maxTokens' ? 'length' : 'stop'
      const usage = {
        ...{ prompt_tokens: usedInputTokens, completion_tokens: usedOutputTokens },
        total_tokens: usedInputTokens + usedOutputTokens,
      }
      if (asked.stream) {
        send(choice({}, finish))
        if (asked.tellsUsage) send({ choices: [], usage })
        response.end('data: [DONE]\n\n')
        return
      }
      const message = { role: 'assistant', content: text }
      response.writeHead(OK, { 'content-type': 'application/json' })
      const choices = [{ index: 0, message, finish_reason: finish }]
      response.end(JSON.stringify({ ...base, object: 'chat.completion', choices, usage }))
    } finally {
      sequence.dispose()
    }
  }

  return async (asked: AskedChat, name: string, response: ServerResponse): Promise<void> => {
    try {
      await inTurn(() => speak(asked, name, response))
    } catch (error) {
      if (!(error instanceof TooBusy)) throw error
      response.setHeader('retry-after', String(BUSY_SECONDS))
      refuse(response, TOO_MANY, { message: error.message, code: 'rate_limit_exceeded' })
    }
  }
}

/** Refuses as servers of the protocol do. */
export function refuse(
  response: ServerResponse,
  status: number,
  { message, code }: { message: string; code: string | null },
): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } }))
}

/** What is said of a question that this model cannot take; null of another fault. */
export function refusedWords(error: unknown): string | null {
  return error instanceof NotForThisModel ? error.message : null
}

function textOf(item: AskedChat['history'][number]): string {
  return item.type === 'model' ? item.response.join('') : item.text
}
