import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../platform/http/api-error.ts'
import { readAsked } from './asked-json.ts'
import { WORDS_BODIES } from './chat-body.ts'
import { embeddingBody } from './embedding-body.ts'
import { textsOrTokens } from './long-lists.ts'

const chat = WORDS_BODIES['chat/completions']
const completion = WORDS_BODIES.completions
const MANY = 99_000
const names = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`name${at}`, 1]))

/** The fields that a body breaks; none where it is taken. */
function broken(schema: Parameters<typeof readAsked>[1], body: object): unknown {
  try {
    readAsked(Buffer.from(JSON.stringify({ model: 'x', ...body })), schema)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    return (error as ApiError).fields
  }
}
const fault = (path: string) => [{ path, rule: 'not_allowed' }]

describe('[B10] lists of a question', () => {
  test('are taken in each of their forms', () => {
    for (const list of ['a', ['a', 'b'], [1, 2], [[1], [2, 3]], new Array(MANY).fill(7)]) {
      expect(broken(completion, { prompt: list })).toEqual([])
      expect(broken(embeddingBody, { input: list })).toEqual([])
    }
    expect(broken(completion, { prompt: '' })).toEqual([])
    const messages = new Array(4_000).fill({ role: 'user', content: 'a', name: 'b' })
    expect(broken(chat, { messages })).toEqual([])
  })

  test.each([
    ['nothing', undefined],
    ['no list', { a: 1 }],
    ['an empty list', []],
    ['what is not whole', new Array(MANY).fill(1.5)],
    ['text among tokens', [...new Array(MANY).fill(1), 'a']],
    ['tokens among texts', ['a', 1]],
    ['an empty list of tokens', [[1], []]],
    ['too many texts', new Array(MANY).fill('a')],
    ['too many lists', new Array(MANY).fill([])],
  ])('that are %s are one fault, however many parts break it', (_, list) => {
    expect(broken(completion, { prompt: list })).toEqual(fault('prompt'))
    expect(broken(embeddingBody, { input: list })).toEqual(fault('input'))
  })

  test('are gone over to their first fault', () => {
    let read = 0
    const list = new Array<number>(MANY).fill(1.5)
    const counting = new Proxy(list, {
      get(target, name, receiver) {
        if (typeof name === 'string' && /^\d+$/.test(name)) read += 1
        return Reflect.get(target, name, receiver)
      },
    })
    expect(textsOrTokens({ textsMax: 100_000, tokensMax: 100_000 }).safeParse(counting).success).toBe(false)
    expect(read).toBeLessThan(10)
  })

  test('of messages tell the first that is none', () => {
    expect(broken(chat, {})).toEqual(fault('messages'))
    expect(broken(chat, { messages: { role: 'user' } })).toEqual(fault('messages'))
    expect(broken(chat, { messages: [] })).toEqual(fault('messages'))
    expect(broken(chat, { messages: new Array(MANY).fill(1) })).toEqual(fault('messages'))
    expect(broken(chat, { messages: [{ role: 'user' }, {}, 1] })).toEqual(fault('messages.1'))
    expect(broken(chat, { messages: [{ role: 'x'.repeat(41) }] })).toEqual(fault('messages.0'))
  })

  test('beside messages are one fault each, however many parts break it', () => {
    const messages = [{ role: 'user', content: 'a' }]
    for (const name of ['tools', 'functions', 'stop', 'stop_token_ids', 'modalities']) {
      expect(broken(chat, { messages, [name]: new Array(MANY).fill(null) })).toEqual(fault(name))
    }
    const bias = { messages, logit_bias: { 1: 5, 2: 'x', 3: 'x' } }
    expect(broken(chat, bias)).toEqual(fault('logit_bias'))
    const calls = [{ role: 'assistant', tool_calls: new Array(MANY).fill(null) }]
    expect(broken(chat, { messages: calls })).toEqual(fault('messages.0'))
  })

  test('of names are held to what objects have', () => {
    const overdone = [{ path: '', rule: 'too_large' }]
    expect(broken(completion, { prompt: 'a', ...names })).toEqual(overdone)
    expect(broken(chat, { messages: [{ role: 'user', ...names }] })).toEqual(overdone)
    const some = Object.fromEntries(Object.entries(names).slice(0, 5_000))
    expect(broken(completion, { prompt: 'a', logit_bias: some })).toEqual([])
  })
})
