import { modelCostMicro, NO_USE } from '@berth/contract/model-cost'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { priceOf } from '../../billing/meters/units.ts'
import { metersOf, mostMicro, readUsage } from './used.ts'

const price = fc.bigInt({ min: 0n, max: 100_000_000n })
const model = fc.record({
  id: fc.constant('m'),
  name: fc.constant('M'),
  input_micro_per_million: price,
  output_micro_per_million: price,
  image_micro: price,
  video_micro_per_second: price,
})
const tokens = fc.nat(2_000_000)
const most = fc.record({ inputTokens: tokens, outputTokens: tokens })

describe('[B10] what a call has used', () => {
  test('never costs more than what was set aside, whatever a server says', () => {
    const said = fc.record({
      prompt_tokens: fc.nat(),
      completion_tokens: fc.nat(),
      prompt_tokens_details: fc.option(fc.record({ cached_tokens: fc.nat() })),
    })
    fc.assert(
      fc.property(model, most, said, (prices, aside, usage) => {
        const used = readUsage(usage, aside)
        if (!used) throw new Error('it says what was used')
        const cached = { ...prices, cached_micro_per_million: prices.input_micro_per_million / 2n }
        const meters = metersOf(cached, used)
        // What the console works out before and after is what is charged, to the micro-unit.
        const cost = modelCostMicro(cached, used)
        expect(priceOf(meters, 0)).toBe(cost)
        expect(cost <= mostMicro(cached, aside)).toBe(true)
        const inputs = meters.filter(({ sku }) => !sku.endsWith('output'))
        expect(inputs.reduce((sum, { quantity }) => sum + quantity, 0)).toBe(used.inputTokens)
      }),
    )
  })

  test.each([
    null,
    'much',
    {},
    { prompt_tokens: -1, completion_tokens: 1 },
    { prompt_tokens: 1.5, completion_tokens: 1 },
    { prompt_tokens: '3', completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: Number.POSITIVE_INFINITY },
  ])('%j says nothing of it', said => {
    expect(readUsage(said, { inputTokens: 10, outputTokens: 10 })).toBeNull()
  })

  test('tokens of the cache are part of those that were asked', () => {
    const said = { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } }
    expect(readUsage(said, { inputTokens: 10, outputTokens: 10 })).toEqual({
      ...NO_USE,
      inputTokens: 5,
      cachedTokens: 5,
      outputTokens: 1,
    })
  })
})
