import { describe, expect, test } from 'vitest'
import { hostedModel } from './catalogue-models.ts'

const texts = { en: 'A', zh: 'A', ja: 'A', ko: 'A' }
const named = { id: 'a/b', name: texts, vendor: 'A', description: texts }
const CHAT = {
  context_tokens: 1_000,
  output_tokens_max: 100,
  price_input_million: '0.10',
  price_output_million: '0.40',
}
const KINDS = {
  chat: CHAT,
  multimodal: { ...CHAT, image_input: { count_max: 2, mb_max: 5, types: ['image/png'] } },
  image: { price_image: '0.01', sizes: ['512x512'], images_max: 2, image_input: { mb_max: 40 } },
  video: { price_video_second: '0.04', video_seconds: [2, 5] },
  embedding: { context_tokens: 1_000, price_input_million: '0.02' },
}

/** The fields that are at fault, in their order. */
function faults(model: object): string[] {
  const { error } = hostedModel.safeParse({ ...named, ...model })
  return (error?.issues ?? []).map(({ path }) => path.join('.')).toSorted()
}

describe('[R1.5] a model of the catalogue', () => {
  test.each(Object.entries(KINDS))('of the kind %s has what that kind has', (kind, fields) => {
    expect(faults({ kind, ...fields })).toEqual([])
  })

  test('says what its kind wants, and nothing that belongs to others alone', () => {
    expect(faults({ kind: 'chat' })).toEqual(Object.keys(CHAT).toSorted())
    expect(faults({ kind: 'image' })).toEqual(['price_image'])
    expect(faults({ kind: 'image', ...KINDS.image, price_input_million: '0.10' })).toEqual([
      'price_input_million',
    ])
    expect(faults({ kind: 'chat', ...CHAT, price_image: '0.01' })).toEqual(['price_image'])
    expect(faults({ kind: 'chat', ...CHAT, image_input: {} })).toEqual(['image_input'])
    expect(faults({ kind: 'embedding', ...KINDS.embedding, output_tokens_max: 5 })).toEqual([
      'output_tokens_max',
    ])
  })

  test('takes no picture of more than 40 MB, nor sizes and numbers that nobody waits for', () => {
    const image = { kind: 'image', ...KINDS.image }
    expect(faults({ ...image, image_input: { mb_max: 41 } })).toEqual(['image_input.mb_max'])
    expect(faults({ ...image, image_input: { types: ['image/svg+xml'] } })).toEqual(['image_input.types.0'])
    expect(faults({ ...image, sizes: ['big'] })).toEqual(['sizes.0'])
    expect(faults({ ...image, images_max: 11 })).toEqual(['images_max'])
    expect(faults({ kind: 'video', ...KINDS.video, video_seconds: [61] })).toEqual(['video_seconds.0'])
  })

  test('has what it leaves out: sizes, pictures of a question, and no price for what it does not do', () => {
    const read = (kind: keyof typeof KINDS, fields: object) =>
      hostedModel.parse({ ...named, kind, ...fields })
    expect(read('image', { price_image: '0.01' })).toMatchObject({
      image_micro: 10_000n,
      input_micro_per_million: 0n,
      sizes: ['1024x1024'],
      images_max: 4,
      image_input: null,
      free_calls_per_day: 0,
    })
    expect(read('multimodal', CHAT)).toMatchObject({
      image_micro: 0n,
      image_input: { count_max: 10, bytes_max: 10_000_000 },
      sizes: [],
    })
  })
})
