import type { CatalogueModel } from '../src/platform/config/catalogue.ts'
import type { ModelServerDouble } from './model-server.ts'

/** A token of these models costs whole micro-units, and so do their pictures and films. */
export const PRICES = { input: 2n, cached: 1n, output: 5n, image: 40_000n, videoSecond: 50_000n }

const MILLION = 1_000_000n

/** A model of a catalogue; a chat by itself, with little context. */
export function hostedModel(id: string, part: Partial<CatalogueModel> = {}): CatalogueModel {
  const media = part.kind === 'image' || part.kind === 'video'
  return {
    id,
    name: id,
    kind: 'chat',
    vendor: 'Test',
    description: id,
    context_tokens: media ? 0 : 1_000,
    output_tokens_max: media ? 0 : 100,
    capabilities: [],
    input_micro_per_million: media ? 0n : PRICES.input * MILLION,
    cached_micro_per_million: media ? 0n : PRICES.cached * MILLION,
    output_micro_per_million: media ? 0n : PRICES.output * MILLION,
    image_micro: part.kind === 'image' ? PRICES.image : 0n,
    sizes: media ? ['256x256', '512x256'] : [],
    images_max: part.kind === 'image' ? 4 : 0,
    video_micro_per_second: part.kind === 'video' ? PRICES.videoSecond : 0n,
    video_seconds: part.kind === 'video' ? [1, 2] : [],
    image_input: null,
    free_calls_per_day: 0,
    servers: [],
    ...part,
  }
}

/** A server of a catalogue's model that a test has started. */
export const at = ({ url }: ModelServerDouble) =>
  ({
    driver: 'openai',
    url,
    key_env: 'TEST_KEY',
    model: 'theirs',
  }) satisfies CatalogueModel['servers'][number]
