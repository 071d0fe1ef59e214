import { listModelFigures } from '@berth/contract/model-figures'
import { listModels } from '@berth/contract/models'
import { screen } from '@testing-library/react'
import { describe, expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell } from '../../gateway-fixture.tsx'
import { madeModel } from '../../models/model-fixture.ts'
import { Page } from './ModelEndpointsPage.tsx'

const LLAMA = madeModel()
const MODELS = [
  LLAMA,
  madeModel({ id: 'sd', name: 'SD', kind: 'image', image_micro: '12000', sizes: ['512x512'] }),
]

async function open(id: string) {
  // Nobody is signed in.
  await answerCalls(
    { [listModels.operation]: () => MODELS, [listModelFigures.operation]: () => [] },
    { user: null },
  )
  return await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['models'], at: `?model=${encodeURIComponent(id)}` },
  )
}

describe('the page of a model', () => {
  test('[R1.5] [R2.3] tells a guest what it is, what it costs and takes, and that nothing is measured yet', async () => {
    await open(LLAMA.id)
    expect(await screen.findByRole('heading', { level: 1, name: LLAMA.name })).toBeTruthy()
    for (const said of [
      LLAMA.id,
      'Meta',
      LLAMA.description,
      '$0.23 /M in',
      '$0.40 /M out',
      '131,072 context',
      'to 4,096 tokens out',
    ])
      expect(screen.getByText(said)).toBeTruthy()
    expect(screen.getAllByText('not measured yet')).toHaveLength(2)
    expect(screen.getByRole('region', { name: 'cURL' }).textContent).toContain(`"model": "${LLAMA.id}"`)
  })

  test('a model that makes pictures is called in another way, and one that is not there says so', async () => {
    const page = await open('sd')
    expect(await screen.findByRole('heading', { level: 1, name: 'SD' })).toBeTruthy()
    expect(screen.getByText('$0.012 /image')).toBeTruthy()
    expect(screen.queryByRole('region', { name: 'cURL' })).toBeNull()
    await page.go('?model=none')
    expect(await screen.findByText('There is no such model')).toBeTruthy()
  })
})
