import { chat } from '@berth/contract/models'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ApiError } from './api-error.ts'
import { asker } from './ask.ts'
import { createIdempotencyKeys } from './idempotency-keys.ts'
import type { RequestDeps } from './request.ts'

const deps: RequestDeps = {
  origin: '',
  readToken: () => 'token',
  readLanguage: () => 'ja',
  keys: createIdempotencyKeys({ getItem: () => null, setItem: () => undefined, removeItem: () => undefined }),
  textOf: code => `text of ${code}`,
  onFailure: () => undefined,
}

afterEach(() => void vi.unstubAllGlobals())

/** Answers with these parts, one after the other; `then` says how it ends. */
function answering(
  parts: readonly string[],
  then: 'ends' | 'breaks' | 'hangs' = 'ends',
  type = 'text/event-stream',
) {
  const sent: { init: RequestInit }[] = []
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    sent.push({ init })
    const body = new ReadableStream<Uint8Array>({
      async start(to) {
        init.signal?.addEventListener('abort', () => to.error(init.signal?.reason))
        for (const part of parts) {
          if (init.signal?.aborted) return
          to.enqueue(new TextEncoder().encode(part))
          await Promise.resolve()
        }
        if (then === 'ends') to.close()
        if (then === 'breaks') to.error(new TypeError('network error'))
      },
    })
    return new Response(body, { headers: { 'content-type': type } })
  })
  return sent
}

async function hear(options: { signal?: AbortSignal; silenceMs?: number } = {}) {
  const heard: string[] = []
  const { signal = new AbortController().signal, silenceMs } = options
  const error = await asker(deps, silenceMs)(
    chat,
    { model: 'm', stream: true },
    { signal, onEvent: data => heard.push(data) },
  ).then(
    () => null,
    (reason: ApiError) => reason,
  )
  return { heard, error }
}

describe('asking a model', () => {
  test('[R7.7] says whose question it is and in which language, and hears each event, however it is cut', async () => {
    const sent = answering([
      ': alive\n\nda',
      'ta: {"a":1}\n',
      '\ndata:{"b":2}\r\n\r\ndata: x\ndata: y\n\nevent: z\n\ndata: [DONE]\n\n',
    ])
    expect(await hear()).toEqual({ heard: ['{"a":1}', '{"b":2}', 'x\ny', '[DONE]'], error: null })
    const headers = new Headers(sent[0]?.init.headers)
    expect(headers.get('authorization')).toBe('Bearer token')
    expect(headers.get('x-berth-language') ?? headers.get('accept-language')).toBe('ja')
    expect(JSON.parse(String(sent[0]?.init.body))).toEqual({ model: 'm', stream: true })
  })

  test('what breaks off is told as a lost connection, after what had come', async () => {
    answering(['data: one\n\n'], 'breaks')
    const { heard, error } = await hear()
    expect(heard.length).toBeLessThanOrEqual(1)
    expect(error?.code).toBe('network')
  })

  test('what is silent for long has been lost', async () => {
    answering(['data: one\n\n'], 'hangs')
    const { heard, error } = await hear({ silenceMs: 50 })
    expect(heard).toEqual(['one'])
    expect(error?.code).toBe('network')
  })

  test('whoever asked can end it at once', async () => {
    const sent = answering(['data: one\n\n'], 'hangs')
    const abort = new AbortController()
    const done = hear({ signal: abort.signal })
    abort.abort()
    expect((await done).error?.code).toBe('cancelled')
    expect(sent[0]?.init.signal?.aborted).toBe(true)
  })

  test('[R8.1] what the gateway refuses is told by its envelope', async () => {
    vi.stubGlobal('fetch', async () =>
      Response.json(
        { status: 'error', code: 'insufficient_balance', msg: 'Too low.', data: null },
        { status: 402 },
      ),
    )
    const { error } = await hear()
    expect(error).toMatchObject({ code: 'insufficient_balance', message: 'Too low.', status: 402 })
  })

  test('what a model refuses in its own words is told in them', async () => {
    vi.stubGlobal('fetch', async () =>
      Response.json({ error: { message: 'No such tool.', code: 'strange' } }, { status: 400 }),
    )
    expect((await hear()).error).toMatchObject({ code: 'model_call_failed', message: 'No such tool.' })
  })
})
