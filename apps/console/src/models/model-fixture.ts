import { type Model, model } from '@berth/contract/models'
import { sampleOf } from '../schema-fixture.ts'

/** A hosted model, for a test. */
export function madeModel(part: Partial<Model> = {}): Model {
  return {
    ...(sampleOf(model) as Model),
    id: 'meta/llama-3.3-70b',
    name: 'Llama 3.3 70B',
    kind: 'chat',
    vendor: 'Meta',
    description: 'Answers in many languages.',
    context_tokens: 131_072,
    output_tokens_max: 4_096,
    capabilities: ['tools'],
    input_micro_per_million: '230000',
    cached_micro_per_million: '230000',
    output_micro_per_million: '400000',
    image_micro: '0',
    sizes: [],
    images_max: 0,
    video_micro_per_second: '0',
    video_seconds: [],
    image_input: null,
    free_calls_per_day: 0,
    demo: false,
    ...part,
  }
}
