import { afterEach, describe, expect, test, vi } from 'vitest'
import { cost, piece, surroundings } from './answer-fixture.ts'
import { type Asking, createConversation, isAnswering } from './conversation.ts'
import { speedOf } from './turns.ts'

const prompt = (text: string) => ({ text, pictures: [] })
const asking = (...modelIds: string[]): Asking => ({
  modelIds,
  system: 'Be brief.',
  bodyOf: (model, messages) => ({ model, messages }),
  tooManyOf: () => 42,
})

afterEach(() => void vi.useRealTimers())

function start() {
  const around = surroundings()
  const conversation = createConversation(around.deps)
  return {
    ...around,
    conversation,
    of: (model: string, turn = -1) => conversation.turns().at(turn)?.answers[model],
  }
}

describe('a conversation', () => {
  test('asks every model at once, and shows what comes with what it took and cost', async () => {
    const { conversation, asked, clock, settle, of } = start()
    conversation.send(prompt('Hello'), asking('a', 'b'))
    expect(asked.map(({ body }) => body.model)).toEqual(['a', 'b'])
    expect(of('a')?.state).toBe('waiting')
    clock.ms = 300
    asked[0]?.say(piece('Good '), piece('day'))
    await settle()
    expect(of('a')).toMatchObject({ state: 'writing', text: 'Good day', firstMs: 300 })
    expect(isAnswering(conversation.turns())).toBe(true)
    clock.ms = 1_300
    asked[0]?.say(cost('72', 64, 20), '[DONE]')
    asked[0]?.end()
    await settle()
    expect(of('a')).toMatchObject({ state: 'done', costMicro: '72', tokens: { input: 64, output: 20 } })
    const answer = of('a')
    expect(answer && speedOf(answer, 9_999)).toBe(20)
    expect(of('b')?.state).toBe('waiting')
    expect(clock.charged).toBe(1)
  })

  test('each model is sent what it was asked and has said itself, and nothing of the others', async () => {
    const { conversation, asked, settle } = start()
    conversation.send(prompt('One'), asking('a', 'b'))
    asked[0]?.say(piece('A1'))
    asked[0]?.end()
    asked[1]?.breakOff()
    await settle()
    conversation.send(prompt('Two'), asking('a', 'b'))
    const system = { role: 'system', content: 'Be brief.' }
    expect(asked[2]?.body.messages).toEqual([
      system,
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'A1' },
      { role: 'user', content: 'Two' },
    ])
    // What was not answered was not said.
    expect(asked[3]?.body.messages).toEqual([system, { role: 'user', content: 'Two' }])
  })

  test('stopping ends every call at once and keeps what had come', async () => {
    const { conversation, asked, settle, of } = start()
    conversation.send(prompt('Hello'), asking('a', 'b'))
    asked[0]?.say(piece('Half'))
    conversation.stop()
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true])
    await settle()
    expect(of('a')).toMatchObject({ state: 'stopped', text: 'Half', failure: null })
    expect(of('b')).toMatchObject({ state: 'stopped', text: '' })
    expect(isAnswering(conversation.turns())).toBe(false)
  })

  test('what fails stands in the place of its answer alone, and can be tried again', async () => {
    const { conversation, asked, settle, of } = start()
    conversation.send(prompt('Hello'), asking('a', 'b'))
    asked[0]?.breakOff('network', 'No connection')
    asked[1]?.say(piece('Fine'))
    asked[1]?.end()
    await settle()
    expect(of('a')).toMatchObject({ state: 'failed', failure: { code: 'network', message: 'No connection' } })
    expect(of('b')).toMatchObject({ state: 'done', text: 'Fine' })
    conversation.again('a', asking())
    expect(of('a')).toMatchObject({ state: 'waiting', failure: null })
    expect(of('b')?.text).toBe('Fine')
    asked[2]?.say(piece('Now'))
    asked[2]?.end()
    await settle()
    expect(of('a')).toMatchObject({ state: 'done', text: 'Now' })
  })

  test('an answer that breaks off keeps what had come, also where its server says so in its last words', async () => {
    const { conversation, asked, settle, of } = start()
    conversation.send(prompt('Hello'), asking('a', 'b'))
    asked[0]?.say(piece('Half'))
    asked[0]?.breakOff()
    asked[1]?.say(piece('Some'), JSON.stringify({ error: { message: 'Gone', code: 'model_call_failed' } }))
    asked[1]?.end()
    await settle()
    expect(of('a')).toMatchObject({ state: 'broke_off', text: 'Half' })
    expect(of('b')).toMatchObject({ state: 'broke_off', text: 'Some', failure: { message: 'Gone' } })
  })

  test('a question that is too long says by how many tokens: as its server does, else about', async () => {
    const { conversation, asked, settle, of } = start()
    const said =
      "This model's maximum context length is 8,192 tokens. However, your messages resulted in 9001 tokens."
    conversation.send(prompt('Hello'), asking('a', 'b'))
    asked[0]?.breakOff('context_length_exceeded', said)
    asked[1]?.breakOff('context_length_exceeded', 'The answer exceeds the context length limit')
    await settle()
    expect(of('a')?.failure?.tokensTooMany).toBe(809)
    expect(of('b')?.failure?.tokensTooMany).toBe(42)
  })

  test('an edited prompt takes the place of its own and of all that came after; late words of those are lost', async () => {
    const { conversation, asked, settle, of } = start()
    conversation.send(prompt('One'), asking('a'))
    asked[0]?.end()
    await settle()
    const [first] = conversation.turns()
    conversation.send(prompt('Two'), asking('a'))
    conversation.edit(first?.id ?? '', prompt('Other'), asking('a'))
    expect(asked[1]?.signal.aborted).toBe(true)
    asked[1]?.say(piece('late'))
    asked[2]?.say(piece('New'))
    asked[2]?.end()
    await settle()
    expect(conversation.turns().map(turn => turn.prompt.text)).toEqual(['Other'])
    expect(of('a')?.text).toBe('New')
  })

  test('turns that did not change stay the same objects while another one is written', async () => {
    const { conversation, asked, settle } = start()
    conversation.send(prompt('One'), asking('a'))
    asked[0]?.end()
    await settle()
    const [first] = conversation.turns()
    conversation.send(prompt('Two'), asking('a'))
    asked[1]?.say(piece('x'))
    await settle()
    expect(conversation.turns()[0]).toBe(first)
  })

  test('late words of an answer that another one has taken the place of are lost', async () => {
    const { conversation, asked, settle, of } = start()
    conversation.send(prompt('One'), asking('a'))
    conversation.again('a', asking())
    expect(asked[0]?.signal.aborted).toBe(true)
    asked[0]?.say(piece('late'))
    asked[1]?.say(piece('New'))
    await settle()
    expect(of('a')).toMatchObject({ state: 'writing', text: 'New' })
  })

  test('what was charged for an answer that is gone is kept, until all is forgotten', async () => {
    const { conversation, asked, settle } = start()
    const kept = () => conversation.replaced().map(({ modelId, costMicro }) => [modelId, costMicro])
    const answered = async (micro: string) => {
      asked.at(-1)?.say(piece('Hi'), cost(micro, 64, 20))
      asked.at(-1)?.end()
      await settle()
    }
    conversation.send(prompt('One'), asking('a'))
    await answered('72')
    expect(kept()).toEqual([])
    conversation.again('a', asking())
    await answered('80')
    conversation.edit(conversation.turns()[0]?.id ?? '', prompt('Other'), asking('a'))
    asked.at(-1)?.say(piece('Half'))
    await settle()
    conversation.forget('a')
    expect(kept()).toEqual([
      ['a', '72'],
      ['a', '80'],
      ['a', null],
    ])
    conversation.clear()
    expect(kept()).toEqual([])
  })

  test('clearing ends what is under way', async () => {
    const { conversation, asked, settle } = start()
    conversation.send(prompt('One'), asking('a'))
    conversation.clear()
    asked[0]?.say(piece('late'))
    await settle()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(conversation.turns()).toEqual([])
  })
})
