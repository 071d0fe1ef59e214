import { describe, expect, test } from 'vitest'
import { madeModel } from '../../models/model-fixture.ts'
import { foundModels, outputPrices, slugOf, toggled } from './found-models.ts'
import { catalogueSearch } from './search.ts'

const MODELS = [
  madeModel({ id: 'meta/llama', name: 'Llama', vendor: 'Meta', output_micro_per_million: '400000' }),
  madeModel({
    id: 'qwen/qwen3',
    name: 'Qwen3',
    vendor: 'Qwen, Inc.',
    capabilities: ['tools', 'json'],
    output_micro_per_million: '300000',
    context_tokens: 40_960,
  }),
  madeModel({
    id: 'qwen/vl',
    name: 'Qwen VL',
    vendor: 'Qwen, Inc.',
    kind: 'multimodal',
    capabilities: [],
    output_micro_per_million: '750000',
  }),
]
const find = (search: Record<string, string>, typed = '') =>
  foundModels(MODELS, typed, catalogueSearch.parse(search))
const names = (search: Record<string, string>, typed = '') => find(search, typed).rows.map(({ name }) => name)

describe('models are narrowed', () => {
  test.each([
    [{}, '', ['Llama', 'Qwen3', 'Qwen VL']],
    [{ kind: 'chat' }, '', ['Llama', 'Qwen3']],
    [{ kind: 'chat,multimodal' }, '', ['Llama', 'Qwen3', 'Qwen VL']],
    [{ vendor: 'qwen-inc-' }, '', ['Qwen3', 'Qwen VL']],
    [{ can: 'tools,json' }, '', ['Qwen3']],
    [{ price: '0.4' }, '', ['Llama', 'Qwen3']],
    [{ price: 'cheap', sort: 'best' }, '', ['Llama', 'Qwen3', 'Qwen VL']],
    [{ kind: 'poem' }, '', []],
    [{}, ' QWEN vl ', ['Qwen VL']],
    [{}, 'llama qwen', []],
    [{ sort: 'price' }, '', ['Qwen3', 'Llama', 'Qwen VL']],
    [{ sort: 'context' }, '', ['Llama', 'Qwen VL', 'Qwen3']],
    [{ sort: 'name' }, '', ['Llama', 'Qwen VL', 'Qwen3']],
  ])('by %o and “%s” to %o', (search, typed, expected) => {
    expect(names(search, typed)).toEqual(expected)
  })

  test('each choice counts what it would show beside what is chosen elsewhere', () => {
    const { choices } = find({ kind: 'multimodal' })
    expect(choices.kind).toEqual([
      { value: 'chat', count: 2, chosen: false },
      { value: 'multimodal', count: 1, chosen: true },
    ])
    expect(choices.vendor).toEqual([
      { value: slugOf('Qwen, Inc.'), count: 1, chosen: false },
      { value: 'meta', count: 0, chosen: false },
    ])
  })

  test('a choice is taken and given up in the address', () => {
    expect(toggled('', 'chat')).toBe('chat')
    expect(toggled('chat,image', 'chat')).toBe('image')
  })

  test('prices to choose from are those that there are', () => {
    expect(outputPrices([...MODELS, ...MODELS])).toEqual([300_000n, 400_000n, 750_000n])
  })
})
