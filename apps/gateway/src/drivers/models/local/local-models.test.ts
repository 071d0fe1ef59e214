import { expect, test } from 'vitest'
import { hostedModel } from '../../../../test/hosted-models.ts'
import { shippedCatalogue } from '../../../../test/shipped-catalogue.ts'
import { withLocalModel } from './local-models.ts'

const source = (place: string) => ({ place, isAddress: place.startsWith('http'), sha256: null })

test('it is a model by the name of its file, at the price of what is found, before all others', () => {
  const catalogue = shippedCatalogue()
  const { models, contextTokens } = withLocalModel(
    catalogue,
    source('https://example.com/a%20b/Small%20Model (Q4).gguf?download=true'),
  )
  expect(models[0]).toMatchObject({
    id: 'local/Small-Model-Q4-',
    kind: 'chat',
    servers: [{ driver: 'local' }],
    input_micro_per_million: catalogue.found_models?.price_input_million,
  })
  expect(models.slice(1)).toEqual(catalogue.models)
  expect(contextTokens).toBe(catalogue.found_models?.context_tokens)
})

test('where the catalogue says which model it answers for, no other is made', () => {
  const own = hostedModel('ours', { context_tokens: 4_000, servers: [{ driver: 'local' }] })
  const { models, contextTokens } = withLocalModel(
    { models: [own], found_models: undefined },
    source('/models/small.gguf'),
  )
  expect(models).toEqual([own])
  expect(contextTokens).toBe(4_000)
})

test('where it is to make films, the gateway does not start', () => {
  const films = hostedModel('films', { kind: 'video', servers: [{ driver: 'local' }] })
  expect(() => withLocalModel({ models: [films], found_models: undefined }, source('/small.gguf'))).toThrow(
    'the model films is answered by the local one, which only chats',
  )
})

test('where nothing says what it costs, the gateway does not start', () => {
  expect(() => withLocalModel({ models: [], found_models: undefined }, source('/small.gguf'))).toThrow(
    'BERTH_LOCAL_MODEL has no price',
  )
})
