import { chat, listModels, type Model } from '@berth/contract/models'
import { useNavigate } from '@tanstack/react-router'
import { act, cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { beforeEach, describe, expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal } from '../gateway-fixture.tsx'
import { pngHead } from '../making/creation-fixture.ts'
import { madeModel } from '../models/model-fixture.ts'
import { Page as ChatModelPage } from '../pages/chat-model/ChatModelPage.tsx'
import { Page as MultiModalPage } from '../pages/multi-modal/MultiModalPage.tsx'
import { streamOf } from '../stream-fixture.ts'
import { giveWorkers } from '../worker-fixture.ts'

const LLAMA = madeModel({ id: 'llama', name: 'Llama' })
const SMALL = madeModel({ id: 'small', name: 'Small', output_tokens_max: 512 })
const SEES = madeModel({
  id: 'sees',
  name: 'Sees',
  kind: 'multimodal',
  image_input: { count_max: 2, bytes_max: 1_000, types: ['image/png'] },
})

beforeEach(async () => void (await giveWorkers('ui/markdown/answer-worker.ts')))

interface Setup {
  Page?: typeof ChatModelPage
  at?: string
  models?: readonly Model[]
  isGuest?: boolean
  emailVerified?: boolean
  answer?: () => unknown
}

async function open({
  Page = ChatModelPage,
  at = '',
  models = [LLAMA, SMALL],
  isGuest = false,
  emailVerified = true,
  answer,
}: Setup = {}) {
  const stream = streamOf<unknown>()
  const calls = await answerCalls(
    {
      [listModels.operation]: () => models,
      [chat.operation]: ({ signal }) => answer?.() ?? stream.answer(signal),
    },
    { user: isGuest ? null : customer({ emailVerified }) },
  )
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['chat', 'models'], at },
  )
  const field = await screen.findByLabelText('Message')
  return {
    page,
    stream,
    field,
    asked: () => calls.sent.filter(({ operation }) => operation === chat.operation),
    type: (text: string) => act(async () => fireEvent.change(field, { target: { value: text } })),
    press: (key: object) => act(async () => fireEvent.keyDown(field, { key: 'Enter', ...key })),
  }
}

test('a model of the address that is not here is said, with the one that stands in its place', async () => {
  const { page } = await open({ at: '?model=gone%2Fmodel,small' })
  const note = await screen.findByText('There is no model gone/model here; Small is chosen instead.')
  const way = within(note.parentElement as HTMLElement).getByRole('link', { name: 'See all models' })
  expect(way.getAttribute('href')).toBe('/model-endpoints')
  await act(async () => page.go('?model=small'))
  await waitFor(() => expect(screen.queryByText(/There is no model/)).toBeNull())
})

describe('writing to models', () => {
  test('Enter sends; with Shift it breaks the line, and it sends no word that an input method still makes', async () => {
    const { type, press, asked } = await open()
    await type('こんにちは')
    await press({ shiftKey: true })
    await press({ isComposing: true })
    await press({ keyCode: 229 })
    expect(asked()).toHaveLength(0)
    await press({})
    expect(asked()).toHaveLength(1)
    expect(asked()[0]?.body).toMatchObject({ model: 'llama', stream: true, max_tokens: 1_024 })
  })

  test('[R2.29] where pictures are shown Ctrl+Enter sends, which is said beside the button, and Enter does not', async () => {
    const { type, press, asked } = await open({ Page: MultiModalPage, models: [SEES] })
    expect(screen.getByText('Ctrl+Enter')).toBeTruthy()
    await type('What is it?')
    await press({})
    expect(asked()).toHaveLength(0)
    await press({ ctrlKey: true, isComposing: true })
    expect(asked()).toHaveLength(0)
    await press({ ctrlKey: true })
    expect(asked()).toHaveLength(1)
  })

  test.each(['ctrlKey', 'metaKey'])('[R2.29] with %s, Enter sends pictures', async key => {
    const { type, press, asked } = await open({ Page: MultiModalPage, models: [SEES] })
    await type('What is it?')
    await press({ [key]: true })
    expect(asked()).toHaveLength(1)
  })

  test('[B11] the code beside it makes the next call: all that was said, what is typed, and how it is to answer', async () => {
    const { type, press, stream } = await open({ models: [SMALL] })
    await type('Good morning')
    await press({})
    await act(async () => stream.say({ choices: [{ delta: { content: 'It is evening' } }] }))
    await act(async () => stream.end())
    await screen.findByText('It is evening')
    fireEvent.click(screen.getByRole('tab', { name: 'Code' }))
    const code = () => screen.getByRole('tabpanel').querySelector('pre')?.textContent
    expect(code()).toContain('"content": "Hello!"')
    await type('Good night')
    for (const part of ['"Good morning"', '"It is evening"', '"Good night"', '"max_tokens": 512']) {
      expect(code()).toContain(part)
    }
    expect(code()).not.toContain('Hello!')
  })

  test('while an answer is written the one thing to do is to stop it, which ends the call at once', async () => {
    const { type, press, asked, stream } = await open()
    await type('Hello')
    await press({})
    expect(screen.queryByRole('button', { name: 'Send' })).toBeNull()
    await act(async () => stream.say({ choices: [{ delta: { content: 'Half of it' } }] }))
    await screen.findByText('Half of it')
    fireEvent.click(screen.getByRole('button', { name: 'Stop' }))
    expect(asked()[0]?.signal?.aborted).toBe(true)
    await screen.findByText('Stopped by you. What had come is charged.')
    expect(screen.getByText('Half of it')).toBeTruthy()
    expect(screen.getByRole('button', { name: 'Send' })).toBeTruthy()
  })

  test('what it may cost stands there before, and what it cost after', async () => {
    const { type, press, stream } = await open()
    await type('Hello')
    const line = () => screen.getByText(/Next message/).textContent ?? ''
    // The longest answer alone is 1,024 tokens at $0.40 a million.
    const before = Number(/\$(0\.\d+)/.exec(line())?.[1])
    expect(before).toBeGreaterThan(0.00041)
    expect(before).toBeLessThan(0.0006)
    await press({})
    await act(async () => {
      stream.say({ choices: [{ delta: { content: 'Hi' } }] })
      stream.say({
        choices: [],
        berth: { call_id: 'c', cost_micro: '72', input_tokens: 64, cached_tokens: 0, output_tokens: 142 },
      })
      stream.end()
    })
    await screen.findByText('64 in, 142 out')
    expect(screen.getAllByText('$0.000072').length).toBeGreaterThan(0)
    expect(screen.getByText('206 of 131,072 tokens used')).toBeTruthy()
  })

  test('[R8.1] a call that fails says so in the place of its answer, not charged, and can be tried again', async () => {
    const { type, press, asked } = await open({
      answer: () => new Refusal([], 'model_call_failed', 502),
    })
    await type('Hello')
    await press({})
    const trouble = await screen.findByRole('alert')
    expect(trouble.textContent).toContain('Not answered, not charged')
    expect(trouble.textContent).toContain('refused: model_call_failed')
    const said = screen.getAllByRole('status').map(({ textContent }) => textContent)
    expect(said).toContain('The answer failed or broke off.')
    expect(said).not.toContain('The answer is there.')
    fireEvent.click(screen.getByRole('button', { name: 'Try again' }))
    await waitFor(() => expect(asked()).toHaveLength(2))
  })

  test('a balance that is used up is named, with the way to more', async () => {
    const { type, press } = await open({ answer: () => new Refusal([], 'insufficient_balance', 402) })
    await type('Hello')
    await press({})
    const trouble = await screen.findByRole('alert')
    expect(trouble.querySelector('a')?.getAttribute('href')).toBe('/payments?topup=open')
  })

  test('the cost of a conversation has all that was charged in it, also for an answer that was edited away', async () => {
    const answers = ['72', '80'].map(micro => () => {
      const stream = streamOf<unknown>()
      const answered = stream.answer(null)
      const berth = { call_id: 'c', cost_micro: micro, input_tokens: 1, cached_tokens: 0, output_tokens: 2 }
      stream.say({ choices: [{ delta: { content: 'Hi' } }] })
      stream.say({ choices: [], berth })
      stream.end()
      return answered
    })
    const { type, press } = await open({ answer: () => answers.shift()?.() })
    await type('Helo')
    await press({})
    const card = screen.getByRole('region', { name: 'This conversation' })
    await within(card).findByText('$0.000072')
    fireEvent.click(await screen.findByRole('button', { name: 'Edit the message' }))
    const edited = screen.getByLabelText('Edit the message')
    fireEvent.change(edited, { target: { value: 'Hello' } })
    await act(async () => fireEvent.keyDown(edited, { key: 'Enter' }))
    expect(await within(card).findByText('$0.000152')).toBeTruthy()
    expect(within(card).getByText('Llama, 6 tokens')).toBeTruthy()
  })

  test('an earlier message can be changed and sent again in its place', async () => {
    const { type, press, asked, stream } = await open()
    await type('Helo')
    await press({})
    await act(async () => stream.end())
    fireEvent.click(await screen.findByRole('button', { name: 'Edit the message' }))
    const edited = screen.getByLabelText('Edit the message')
    fireEvent.change(edited, { target: { value: 'Hello' } })
    await act(async () => fireEvent.keyDown(edited, { key: 'Enter' }))
    expect(asked()[1]?.body).toMatchObject({ messages: [{ role: 'user', content: 'Hello' }] })
    expect(screen.queryByText('Helo')).toBeNull()
  })
})

describe('[R2.18] leaving', () => {
  const Leaving = () => {
    const navigate = useNavigate()
    return (
      <>
        <ChatModelPage />
        <button type="button" onClick={() => void navigate({ to: '/elsewhere' as never })}>
          Go elsewhere
        </button>
      </>
    )
  }
  const leave = () =>
    act(async () => fireEvent.click(screen.getByRole('button', { name: 'Go elsewhere', hidden: true })))
  const asksToLeave = () => screen.findByRole('dialog', { name: 'Tips' })

  test('[R2.18] asks where anything was said, and only then; whoever stays finds all of it', async () => {
    const { page, type, press, stream } = await open({ Page: Leaving })
    await type('Hello')
    await press({})
    await act(async () => stream.say({ choices: [{ delta: { content: 'Hi there' } }] }))
    await act(async () => stream.end())
    await screen.findByText('Hi there')
    // One more model is no leaving.
    await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Add a model' })))
    await waitFor(() => expect(page.search()).toContain('llama%2Csmall'))
    expect(screen.queryByRole('dialog')).toBeNull()
    await leave()
    const dialog = await asksToLeave()
    expect(page.path()).toBe('/page')
    await act(async () => fireEvent.keyDown(dialog, { key: 'Escape' }))
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    expect(page.path()).toBe('/page')
    expect(screen.getByText('Hello')).toBeTruthy()
    await leave()
    await asksToLeave()
    await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Leave' })))
    await waitFor(() => expect(page.path()).toBe('/elsewhere'))
  })

  test('[R2.18] does not ask where nothing was said', async () => {
    const { page, type } = await open({ Page: Leaving })
    await type('Hello')
    await leave()
    await waitFor(() => expect(page.path()).toBe('/elsewhere'))
  })
})

test('[R4.2] [R6.3] without a verified address nothing is sent, and beside the button is said why', async () => {
  const { type, press, asked } = await open({ emailVerified: false })
  expect(screen.getByText(/^The account is not activated\./)).toBeTruthy()
  await type('Hello')
  await press({})
  expect(asked()).toHaveLength(0)
})

describe('a guest', () => {
  test('[R2.3] is asked to log in, sends nothing, and finds what they typed when they are back', async () => {
    const { type, press, asked } = await open({ isGuest: true })
    await type('Kept for later')
    await press({})
    expect(await screen.findByRole('dialog', { name: 'Log in to send it?' })).toBeTruthy()
    expect(asked()).toHaveLength(0)
    expect(JSON.parse(sessionStorage.getItem('berth.chat-model.draft') ?? '{}').text).toBe('Kept for later')
  })
})

describe('what was typed and not sent', () => {
  test('[R2.3] is there again: the message, what the model is told first, and the parameters', async () => {
    const { type } = await open({ isGuest: true })
    const temperature = () => screen.getByRole<HTMLInputElement>('textbox', { name: /^Temperature/ })
    const system = () => screen.getByLabelText<HTMLTextAreaElement>('System prompt')
    await type('Kept for later')
    await act(async () => fireEvent.change(system(), { target: { value: 'Be brief.' } }))
    await act(async () => fireEvent.change(temperature(), { target: { value: '0.2' } }))
    cleanup()
    const { field } = await open()
    expect((field as HTMLTextAreaElement).value).toBe('Kept for later')
    expect(system().value).toBe('Be brief.')
    expect(Number(temperature().value)).toBe(0.2)
    // What is taken out again stays out.
    await act(async () => fireEvent.change(field, { target: { value: '' } }))
    cleanup()
    const again = await open()
    expect((again.field as HTMLTextAreaElement).value).toBe('')
  })
})

describe('[R3.14] parameters', () => {
  const temperature = () => screen.getByRole<HTMLInputElement>('textbox', { name: /^Temperature/ })

  test('[R3.14] are sent as they were chosen, and the system prompt first', async () => {
    const { type, press, asked } = await open()
    fireEvent.change(temperature(), { target: { value: '0,2' } })
    fireEvent.change(screen.getByRole('slider', { name: 'Repetition penalty' }), {
      target: { value: '1.05' },
    })
    fireEvent.change(screen.getByLabelText('System prompt'), { target: { value: 'Be brief.' } })
    await type('Hello')
    await press({})
    expect(asked()[0]?.body).toMatchObject({
      temperature: 0.2,
      repetition_penalty: 1.05,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    })
  })

  test('[R3.14] what lies outside the range is said at its field, stays as it was typed and is not sent', async () => {
    const { type, press, asked } = await open()
    fireEvent.change(temperature(), { target: { value: '7' } })
    fireEvent.blur(temperature())
    expect(temperature().getAttribute('aria-invalid')).toBe('true')
    expect(temperature().value).toBe('7')
    expect(screen.getByText('Enter a number, 0 to 2. Until then 1.00 is used.')).toBeTruthy()
    await type('Hello')
    await press({})
    expect(asked()[0]?.body).not.toHaveProperty('temperature')
  })

  test('[R3.14] each model can have its own', async () => {
    const { type, press, asked } = await open({ at: '?model=llama,small' })
    expect(screen.getByText('1 to 512')).toBeTruthy()
    fireEvent.click(screen.getByRole('switch', { name: 'The same for 2 models' }))
    fireEvent.click(screen.getByRole('radio', { name: 'Small' }))
    fireEvent.change(temperature(), { target: { value: '0.5' } })
    await type('Hello')
    await press({})
    expect(asked().map(({ body }) => body)).toMatchObject([
      { model: 'llama', max_tokens: 1_024 },
      { model: 'small', max_tokens: 512, temperature: 0.5 },
    ])
    expect(asked()[0]?.body).not.toHaveProperty('temperature')
  })
})

describe('[R5.10] models side by side', () => {
  test('[R5.10] one is added once, and not offered where another column has it', async () => {
    const { page } = await open()
    const add = screen.getByRole('button', { name: 'Add a model' })
    await act(async () => fireEvent.click(add))
    expect(page.search()).toContain('llama%2Csmall')
    await act(async () => fireEvent.click(add))
    expect(screen.getAllByRole('combobox')).toHaveLength(2)
    expect(add.title).toBe('There is no other model to add.')
    const [first] = screen.getAllByRole<HTMLSelectElement>('combobox')
    expect([...(first?.options ?? [])].map(({ value, disabled }) => [value, disabled])).toEqual([
      ['llama', false],
      ['small', true],
    ])
  })
})

describe('[R5.10] pictures', () => {
  const attach = (field: HTMLElement, files: readonly File[]) =>
    act(async () => fireEvent.paste(field, { clipboardData: { files } }))
  const file = (name: string, type: string, size: number) => new File([new Uint8Array(size)], name, { type })

  test('of more pixels than a model takes are not sent, and not drawn', async () => {
    const { field } = await open({ Page: MultiModalPage, models: [SEES] })
    await attach(field, [new File([pngHead(30_000, 30_000)], 'bomb.png', { type: 'image/png' })])
    expect(await screen.findByText(/^Not sent: more than 80 million pixels/)).toBeTruthy()
  })

  test('[R5.10] say why they are not sent: by type, size and count, as the model takes them', async () => {
    const { field, type, press, asked } = await open({ Page: MultiModalPage, models: [SEES] })
    await attach(field, [file('scan.tiff', 'image/tiff', 10), file('large.png', 'image/png', 1_001)])
    expect(await screen.findByText('Not sent: TIFF is not read')).toBeTruthy()
    expect(screen.getByText('Not sent: 1.0 kB, at most 1.0 kB')).toBeTruthy()
    await attach(
      field,
      ['a.png', 'b.png', 'c.png'].map(name => file(name, 'image/png', 10)),
    )
    expect(await screen.findByText('Not sent: at most 2 pictures a message')).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: 'Remove scan.tiff' }))
    expect(screen.queryByText('scan.tiff')).toBeNull()
    await type('What is it?')
    await press({ ctrlKey: true })
    // Those that are still being read hold the message back.
    expect(asked()).toHaveLength(0)
  })
})
