import { listModelDays, listModelFigures, MODEL_DAYS, type ModelDay } from '@berth/contract/model-figures'
import { chat, listModels } from '@berth/contract/models'
import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, customer, InShell } from '../../gateway-fixture.tsx'
import { madeModel } from '../../models/model-fixture.ts'
import { Page } from './ModelEndpointsPage.tsx'

const LLAMA = madeModel()
const MODELS = [
  LLAMA,
  madeModel({ id: 'sd', name: 'SD', kind: 'image', image_micro: '12000', sizes: ['512x512'] }),
]

async function open(id: string, user: Parameters<typeof answerCalls>[1] = {}) {
  const { sent } = await answerCalls(
    {
      [listModels.operation]: () => MODELS,
      [listModelFigures.operation]: () => [],
      [listModelDays.operation]: () => DAYS,
    },
    user,
  )
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['models', 'chat'], at: `?model=${encodeURIComponent(id)}` },
  )
  return { ...page, asked: () => sent.filter(({ operation }) => operation === chat.operation) }
}

/** The last day was good, the one before bad; of no other there is anything. */
const DAYS: ModelDay[] = Array.from({ length: MODEL_DAYS }, (_, at) => ({
  day: `2026-11-${String(at + 1).padStart(2, '0')}`,
  answered_permille: { 28: 812, 29: 997 }[at] ?? null,
  calls: { 28: 40, 29: 1_200 }[at] ?? 0,
}))

const code = () => screen.getByRole('region', { name: 'cURL' })

describe('the page of a model', () => {
  test('[R1.5] [R2.3] tells a guest what it is, what it costs and takes, and that nothing is measured yet', async () => {
    await open(LLAMA.id, { user: null })
    expect(await screen.findByRole('heading', { level: 1, name: LLAMA.name })).toBeTruthy()
    expect(await screen.findByRole('textbox', { name: 'Prompt' })).toBeTruthy()
    for (const said of [
      LLAMA.id,
      'Meta',
      LLAMA.description,
      '$0.23 /M in',
      '$0.40 /M out',
      '131,072 context',
    ])
      expect(screen.getByText(said)).toBeTruthy()
    expect(screen.getByText('to 4,096 tokens out')).toBeTruthy()
    expect(screen.getAllByText('not measured yet')).toHaveLength(2)
  })

  test('[R1.5] tells how it has answered on each of thirty days, and of which nothing was measured', async () => {
    await open(LLAMA.id, { user: null })
    const list = await screen.findByRole('list', { name: 'Answered, 30 days' })
    const days = within(list).getAllByRole('listitem')
    expect(days).toHaveLength(30)
    expect(days[29]?.textContent).toMatch(/: 99\.7% of 1,200 calls answered$/)
    expect(days[28]?.dataset.look).toBe('bad')
    expect(days[0]?.textContent).toMatch(/: not measured$/)
  })

  test('[R3.14] has a prompt, what the model is told first, and six parameters with their ranges', async () => {
    await open(LLAMA.id)
    expect(await screen.findByRole('textbox', { name: 'Prompt' })).toBeTruthy()
    expect(screen.getByRole('textbox', { name: 'System prompt' })).toBeTruthy()
    for (const [name, min, max] of [
      ['Max tokens', '1', '4096'],
      ['Temperature', '0', '2'],
      ['Top-p', '0', '1'],
      ['Presence penalty', '-2', '2'],
      ['Frequency penalty', '-2', '2'],
      ['Repetition penalty', '0', '2'],
    ] as const) {
      const slider = screen.getByRole('slider', { name })
      expect([slider.getAttribute('min'), slider.getAttribute('max')]).toEqual([min, max])
    }
  })

  test('[B11] the code and the price follow what is typed', async () => {
    await open(LLAMA.id)
    await userEvent.type(await screen.findByRole('textbox', { name: 'Prompt' }), "it's late")
    expect(code().textContent).toContain("it'\\''s late")
    const price = () => screen.getByText(/Next message: at most/).textContent
    const before = price()
    const tokens = screen.getByRole('textbox', { name: /^Max tokens/ })
    await userEvent.clear(tokens)
    await userEvent.type(tokens, '16')
    expect(code().textContent).toContain('"max_tokens": 16')
    expect(price()).not.toBe(before)
    await userEvent.click(screen.getByText('JavaScript'))
    expect(screen.getByRole('region', { name: 'JavaScript' }).textContent).toContain("'it\\'s late'")
  })

  test('[R6.1] a guest who runs it is asked to log in, and nothing is sent', async () => {
    const { asked } = await open(LLAMA.id, { user: null })
    await userEvent.type(await screen.findByRole('textbox', { name: 'Prompt' }), 'Hello')
    await userEvent.click(screen.getByRole('button', { name: 'Log in to run it' }))
    const dialog = within(await screen.findByRole('dialog'))
    expect(dialog.getByRole('button', { name: 'Log in' })).toBeTruthy()
    expect(asked()).toEqual([])
  })

  test('[R4.2] [R6.3] without a verified address, and without a prompt, it does not run', async () => {
    const { asked } = await open(LLAMA.id, { user: customer({ emailVerified: false }) })
    const run = await screen.findByRole('button', { name: 'Run' })
    expect(screen.getByText(/^The account is not activated\./)).toBeTruthy()
    await userEvent.type(screen.getByRole('textbox', { name: 'Prompt' }), 'Hello')
    await userEvent.click(run)
    expect(screen.getByRole('button', { name: 'Run' }).getAttribute('aria-disabled')).toBe('true')
    expect(asked()).toEqual([])
  })

  test('[B11] what is run is what the form says', async () => {
    const { asked } = await open(LLAMA.id)
    await userEvent.type(await screen.findByRole('textbox', { name: 'Prompt' }), 'Hello')
    await userEvent.click(screen.getByRole('button', { name: 'Run' }))
    await waitFor(() => expect(asked()).toHaveLength(1))
    expect(asked()[0]?.body).toMatchObject({
      model: LLAMA.id,
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
    })
  })

  test('a model that makes pictures has no prompt here, and one that is not there says so', async () => {
    const page = await open('sd')
    expect(await screen.findByRole('heading', { level: 1, name: 'SD' })).toBeTruthy()
    expect(screen.getByText('$0.012 /image')).toBeTruthy()
    expect(screen.queryByRole('textbox', { name: 'Prompt' })).toBeNull()
    expect(code().textContent).toContain('/v1/images/generations')
    await page.go('?model=none')
    expect(await screen.findByText('There is no such model')).toBeTruthy()
  })
})
