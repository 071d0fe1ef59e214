import { guessTokens } from '@berth/contract/token-guess'
import { expect, test } from 'vitest'
import { madeModel } from '../models/model-fixture.ts'
import { chosenModels } from './chat-search.ts'
import { countedMessages, estimateOf } from './estimate.ts'
import { messagesFor } from './messages.ts'
import type { Answer, Turn } from './turns.ts'

const MODEL = madeModel({
  context_tokens: 1_000,
  input_micro_per_million: '2000000',
  output_micro_per_million: '5000000',
})
const picture = { id: 'p', name: 'a.png', type: 'image/png', size: 3, address: 'data:image/png;base64,AAAA' }
const turn: Turn = {
  id: 't',
  atMs: 0,
  prompt: { text: 'Grüße', pictures: [picture] },
  answers: { [MODEL.id]: { text: 'Zurück' } as Answer },
}

test('the price before is what the gateway sets aside: a token for each byte of the body, and the longest answer', () => {
  const prompt = { text: 'Wie geht es?', pictures: [] }
  const messages = countedMessages(MODEL.id, [turn], prompt, 'Kurz.')
  expect(messages).toEqual(messagesFor(MODEL.id, [turn], prompt, 'Kurz.'))
  const body = { model: MODEL.id, messages, stream: true, max_tokens: 100 }
  const bytes = new TextEncoder().encode(JSON.stringify(body)).length
  const { mostMicro } = estimateOf(body, MODEL)
  // It may be a byte more, and never less.
  expect(Number(mostMicro)).toBeGreaterThanOrEqual(bytes * 2 + 100 * 5)
  expect(Number(mostMicro)).toBeLessThanOrEqual((bytes + 2) * 2 + 100 * 5)
})

test('no more than the context of a model is set aside; what is longer says by how much', () => {
  const prompt = { text: 'word '.repeat(4_000), pictures: [] }
  const estimate = estimateOf({ messages: countedMessages(MODEL.id, [], prompt, ''), max_tokens: 100 }, MODEL)
  expect(estimate.mostMicro).toBe(2_500n)
  expect(estimate.tokensTooMany).toBe(estimate.tokens + 100 - 1_000)
  expect(estimate.tokens).toBeGreaterThan(4_900)
})

test('a token is guessed as four letters, and as one sign where a sign is a word', () => {
  expect(guessTokens('')).toBe(0)
  expect(guessTokens('twelve words')).toBe(3)
  expect(guessTokens('你好世界')).toBe(4)
})

test('[R5.10] no model is asked twice side by side', () => {
  const models = ['a', 'b', 'c'].map(id => ({ id }))
  const ids = (named: string, most = 4) => chosenModels(named, models, most).map(({ id }) => id)
  expect(ids('b,a,b,b')).toEqual(['b', 'a'])
  expect(ids('b,nothere')).toEqual(['b'])
  expect(ids('')).toEqual(['a'])
  expect(ids('c,b,a', 2)).toEqual(['c', 'b'])
})
