import { listModelFigures, type ModelFigures } from '@berth/contract/model-figures'
import { listModels, type Model } from '@berth/contract/models'
import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { madeModel } from '../../models/model-fixture.ts'
import { Page } from './ModelEndpointsPage.tsx'

const MODELS = [
  madeModel(),
  madeModel({
    id: 'qwen/qwen3-32b',
    name: 'Qwen3 32B',
    vendor: 'Qwen',
    capabilities: [],
    context_tokens: 40_960,
    input_micro_per_million: '100000',
    output_micro_per_million: '300000',
  }),
  madeModel({ id: 'qwen/vl', name: 'Qwen VL', vendor: 'Qwen', kind: 'multimodal', demo: true }),
]

async function open(
  models: readonly Model[] | Refusal = MODELS,
  at = '',
  figures: readonly ModelFigures[] | Refusal = [],
) {
  const answer = { models }
  // Nobody is signed in.
  await answerCalls(
    { [listModels.operation]: () => answer.models, [listModelFigures.operation]: () => figures },
    { user: null },
  )
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['models'], at },
  )
  return { ...page, answer }
}

const names = async () =>
  (await screen.findAllByRole('row')).slice(1).map(row => within(row).getByRole('link').textContent)
const rowOf = async (name: string) =>
  within((await screen.findByRole('link', { name })).closest('tr') as HTMLElement)

describe('the catalogue of models', () => {
  test('[R1.5] [R2.3] a guest sees each model with its kind, its limit and its price', async () => {
    await open()
    const row = await rowOf('Llama 3.3 70B')
    for (const said of ['meta/llama-3.3-70b', 'Chat', '131,072 context', 'Calls tools'])
      expect(row.getByText(said)).toBeTruthy()
    expect(row.getByText('$0.23 /M in')).toBeTruthy()
    expect(row.getByText('$0.40 /M out')).toBeTruthy()
    expect((await rowOf('Qwen VL')).getByText('demo')).toBeTruthy()
    expect(screen.getByText(`${window.location.origin}/v1`)).toBeTruthy()
    expect(screen.getByText('3 of 3 models')).toBeTruthy()
  })

  test('[R1.5] pictures, films and vectors have limits and prices of their own', async () => {
    const media = { context_tokens: 0, input_micro_per_million: '0', output_micro_per_million: '0' }
    await open([
      madeModel({
        name: 'SD',
        kind: 'image',
        ...media,
        image_micro: '12000',
        sizes: ['1536x1536', '512x512'],
      }),
      madeModel({
        id: 'wan',
        name: 'Wan',
        kind: 'video',
        ...media,
        video_micro_per_second: '40000',
        video_seconds: [5, 2, 8],
      }),
      madeModel({ id: 'bge', name: 'BGE', kind: 'embedding', input_micro_per_million: '20000' }),
    ])
    for (const [name, ...said] of [
      ['SD', 'Image', 'to 1536 × 1536', '$0.012 /image'],
      ['Wan', 'Video', '2 to 8 s', '$0.04 /s'],
      ['BGE', 'Embedding', '131,072 context', '$0.02 /M in'],
    ] as const) {
      const row = await rowOf(name)
      for (const one of said) expect(row.getByText(one)).toBeTruthy()
      expect(row.queryByText(/out$/)).toBeNull()
    }
  })

  test('what was measured is said, and what was not is said to be so, also where it cannot be read', async () => {
    const [llama, qwen] = MODELS
    const figures = (id = '', part: Partial<ModelFigures> = {}): ModelFigures => ({
      model_id: id,
      first_token_ms: null,
      tokens_per_second: null,
      answered_permille: null,
      calls: 3,
      ...part,
    })
    const known = { first_token_ms: 312, tokens_per_second: 88.2, answered_permille: 996, calls: 1_204 }
    await open(MODELS, '', [figures(llama?.id, known), figures(qwen?.id)])
    const row = await rowOf('Llama 3.3 70B')
    for (const said of ['0.31 s', 'then 88 tok/s', '99.6%', 'of 1,204 calls'])
      expect(await row.findByText(said)).toBeTruthy()
    for (const name of ['Qwen3 32B', 'Qwen VL'])
      expect((await rowOf(name)).getAllByText('not measured yet')).toHaveLength(2)
  })

  test('a catalogue whose figures cannot be read is none the worse', async () => {
    await open(MODELS, '', new Refusal([], 'internal', 500))
    expect(await (await rowOf('Llama 3.3 70B')).findAllByText('not measured yet')).toHaveLength(2)
    expect(screen.queryByRole('alert')).toBeNull()
  })

  test('filters count what they would show, and stand in the address and as pills that take them away', async () => {
    const page = await open()
    const kind = within(await screen.findByRole('group', { name: 'Kind' }))
    expect(kind.getByRole('checkbox', { name: 'Chat 2' })).toBeTruthy()
    await userEvent.click(kind.getByRole('checkbox', { name: 'Chat 2' }))
    await waitFor(async () => expect(await names()).toEqual(['Llama 3.3 70B', 'Qwen3 32B']))
    await userEvent.click(screen.getByRole('checkbox', { name: 'Qwen 1' }))
    await waitFor(async () => expect(await names()).toEqual(['Qwen3 32B']))
    expect(page.search()).toBe('?kind=chat&vendor=qwen')
    expect(screen.getByText('1 of 3 models')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Remove the filter: Chat' }))
    await waitFor(async () => expect(await names()).toEqual(['Qwen3 32B', 'Qwen VL']))
    expect(page.search()).toBe('?vendor=qwen')
  })

  test('an address shows what it says, with a price that is the most', async () => {
    await open(MODELS, '?price=0.3&sort=name')
    expect(await names()).toEqual(['Qwen3 32B'])
    expect(screen.getByRole('button', { name: 'Remove the filter: Out up to $0.30' })).toBeTruthy()
    expect(screen.getByRole('slider').getAttribute('aria-valuetext')).toBe('up to $0.30')
  })

  test('where nothing matches, what hides it is said and can be taken away', async () => {
    const page = await open(MODELS, '?kind=multimodal&can=json')
    expect(await screen.findByText('No model matches')).toBeTruthy()
    expect(
      screen.getByText('3 models are there; these filters are on: Multimodal, Answers in JSON.'),
    ).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Clear all filters' }))
    await waitFor(async () => expect(await names()).toHaveLength(3))
    expect(page.search()).toBe('')
    await userEvent.type(screen.getByRole('searchbox'), 'falcon')
    expect(await screen.findByText('No model matches “falcon”')).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Clear the search' }))
    await waitFor(async () => expect(await names()).toHaveLength(3))
  })

  test('a catalogue without models says so, and one that did not load can be asked for again', async () => {
    const { answer } = await open(new Refusal([], 'internal', 500))
    const again = await screen.findByRole('button', { name: 'Try again' })
    answer.models = []
    await userEvent.click(again)
    expect(await screen.findByText('No models are hosted here yet')).toBeTruthy()
  })

  test('[R1.5] each model is tried from its row', async () => {
    const page = await open()
    await userEvent.click(await screen.findByRole('button', { name: 'Try Qwen VL' }))
    await waitFor(() => expect(page.path()).toBe('/model-endpoints'))
    expect(page.search()).toBe('?model=qwen%2Fvl')
  })

  test('a model is tried where its work is seen; one that only programs use is not offered to be', async () => {
    const page = await open([
      ...MODELS,
      madeModel({ id: 'sd', name: 'SD', kind: 'image', image_micro: '12000', sizes: ['512x512'] }),
      madeModel({ id: 'vectors', name: 'Vectors', kind: 'embedding' }),
    ])
    expect((await rowOf('Vectors')).queryByRole('button')).toBeNull()
    expect((await rowOf('Qwen VL')).getByRole('button', { name: 'Try Qwen VL' })).toBeTruthy()
    await userEvent.click((await rowOf('SD')).getByRole('button', { name: 'Try SD' }))
    await waitFor(() => expect(page.path()).toBe('/image-model'))
    expect(page.search()).toBe('?model=sd')
  })
})
