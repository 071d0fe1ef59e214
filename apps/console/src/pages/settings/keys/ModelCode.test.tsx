import { listModels, type Model } from '@berth/contract/models'
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { ModelCode } from './ModelCode.tsx'

const model = (id: string, demo: boolean): Model => ({
  id,
  name: id,
  kind: 'chat',
  vendor: 'Test',
  description: '',
  context_tokens: 8_192,
  output_tokens_max: 2_048,
  capabilities: [],
  input_micro_per_million: '100000',
  cached_micro_per_million: '100000',
  output_micro_per_million: '400000',
  image_micro: '0',
  sizes: [],
  images_max: 0,
  video_micro_per_second: '0',
  video_seconds: [],
  image_input: null,
  free_calls_per_day: 0,
  demo,
})

async function open(models: Model[]) {
  await answerCalls({ [listModels.operation]: () => models })
  return renderInPage(
    () => (
      <InShell>
        <ModelCode />
      </InShell>
    ),
    { namespaces: ['keys', 'models'] },
  )
}

test('[B10] shows where models are called, at which price, and the call in three languages', async () => {
  await open([model('demo', true), model('llama', false)])
  expect(await screen.findByText(`${window.location.origin}/v1`)).not.toBeNull()
  expect(screen.getByText(/0\.10.* for a million tokens in, .*0\.40.* for a million out/)).not.toBeNull()
  expect(screen.getByText(/No server is connected/)).not.toBeNull()
  expect(screen.getByText(/"model": "demo"/)).not.toBeNull()
  await userEvent.click(screen.getByRole('combobox', { name: 'Model' }))
  await userEvent.click(await screen.findByText('llama'))
  expect(await screen.findByText(/"model": "llama"/)).not.toBeNull()
  expect(screen.queryByText(/No server is connected/)).toBeNull()
  await userEvent.click(screen.getByText('Python'))
  expect(screen.getByText(/from openai import OpenAI/)).not.toBeNull()
})

test('[B10] where there are no models, nothing is said of them', async () => {
  await open([])
  await expect.poll(() => screen.queryByText('Call a model')).toBeNull()
})
