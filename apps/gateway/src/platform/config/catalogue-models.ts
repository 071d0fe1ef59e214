import { MODEL_IMAGE_BYTES_MAX } from '@berth/contract/limits'
import { CHAT_KINDS, MODEL_CAPABILITIES, MODEL_KINDS, type ModelKind } from '@berth/contract/models'
import * as z from 'zod'
import { catalogueText, customerText } from './catalogue-words.ts'
import { price } from './price.ts'

export const MODELS_MAX = 500
const MODEL_SERVERS_MAX = 8
const TOKENS_MAX = 100_000_000
/** Pictures and seconds that one call may ask for: what a customer waits for. */
const IMAGES_MAX = 10
const VIDEO_SECONDS_MAX = 60
const SIZES_MAX = 20
/** Pictures in one question. */
const IMAGE_COUNT_MAX = 50
const MB = 1_000_000

/** What a server is called by that speaks OpenAI's protocol. */
const openAiServer = z.strictObject({
  driver: z.literal('openai'),
  /** Up to where the paths of the protocol begin: `https://api.openai.com/v1`. */
  url: z.url({ protocol: /^https?$/ }).transform(url => url.replace(/\/+$/, '')),
  /** The variable of the gateway's environment that holds its key; left out: it takes none. */
  key_env: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]*$/, 'must be the name of a variable of the environment')
    .optional(),
  /** What it calls the model; left out: as we do. */
  model: catalogueText.optional(),
})

/** Another one, or the model that runs beside the gateway (`BERTH_LOCAL_MODEL`). */
const modelServer = z.discriminatedUnion('driver', [
  openAiServer,
  z.strictObject({ driver: z.literal('local') }),
])

/** Pictures that a model takes (R5.10). */
const imageInput = z
  .strictObject({
    count_max: z.number().int().min(1).max(IMAGE_COUNT_MAX).default(10),
    mb_max: z
      .number()
      .min(0.1)
      .max(MODEL_IMAGE_BYTES_MAX / MB)
      .default(10),
    types: z
      .array(z.enum(['image/png', 'image/jpeg', 'image/webp', 'image/gif']))
      .min(1)
      .default(['image/png', 'image/jpeg', 'image/webp', 'image/gif']),
    /** By what a picture is counted where a server does not say it: pixels that a token has, and the most of one picture. */
    pixels_per_token: z.number().int().min(1).max(1_000_000).optional(),
    tokens_max: z.number().int().min(1).max(TOKENS_MAX).optional(),
  })
  .transform(({ mb_max, ...rest }) => ({ ...rest, bytes_max: Math.round(mb_max * MB) }))

const size = z
  .string()
  .regex(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/, 'must be a width and a height in pixels, such as 1024x1024')

const tokens = z.number().int().min(1).max(TOKENS_MAX)

const modelFields = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/, 'must be letters, digits and . _ : / -, at most 128'),
  name: customerText,
  kind: z.enum(MODEL_KINDS).default('chat'),
  vendor: catalogueText,
  description: customerText,
  context_tokens: tokens.optional(),
  output_tokens_max: tokens.optional(),
  capabilities: z.array(z.enum(MODEL_CAPABILITIES)).default([]),
  price_input_million: price.optional(),
  /** Left out: as what is not in the server's cache. */
  price_cached_million: price.optional(),
  price_output_million: price.optional(),
  price_image: price.optional(),
  /** The first stands where a call names none. */
  sizes: z.array(size).min(1).max(SIZES_MAX).optional(),
  images_max: z.number().int().min(1).max(IMAGES_MAX).optional(),
  price_video_second: price.optional(),
  video_seconds: z
    .array(z.number().int().min(1).max(VIDEO_SECONDS_MAX))
    .min(1)
    .max(VIDEO_SECONDS_MAX)
    .optional(),
  image_input: imageInput.optional(),
  /** So many calls of each customer cost nothing each day. */
  free_calls_per_day: z.number().int().min(0).max(1_000_000).default(0),
  servers: z.array(modelServer).max(MODEL_SERVERS_MAX).default([]),
})
type ModelFields = z.output<typeof modelFields>

/** Fields that belong to some kinds alone: of those that a kind wants, and of those that it may have. */
const WANTED: Record<ModelKind, readonly (keyof ModelFields)[]> = {
  chat: ['context_tokens', 'output_tokens_max', 'price_input_million', 'price_output_million'],
  multimodal: ['context_tokens', 'output_tokens_max', 'price_input_million', 'price_output_million'],
  image: ['price_image'],
  video: ['price_video_second'],
  embedding: ['context_tokens', 'price_input_million'],
}
const ALLOWED: Record<ModelKind, readonly (keyof ModelFields)[]> = {
  chat: ['price_cached_million'],
  multimodal: ['price_cached_million', 'image_input'],
  image: ['sizes', 'images_max', 'image_input'],
  video: ['sizes', 'video_seconds', 'image_input'],
  embedding: [],
}
const OF_KINDS = new Set([...Object.values(WANTED), ...Object.values(ALLOWED)].flat())

/** A hosted model. Its servers are tried in their order; where none is named, what answers says that none is. */
export const hostedModel = modelFields
  .superRefine((model, context) => {
    const { kind } = model
    const complain = (field: keyof ModelFields, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message })
    for (const field of WANTED[kind]) {
      if (model[field] === undefined) complain(field, `is wanted of a model of the kind ${kind}`)
    }
    for (const field of OF_KINDS) {
      const isKnown = WANTED[kind].includes(field) || ALLOWED[kind].includes(field)
      if (model[field] !== undefined && !isKnown) complain(field, `belongs to no model of the kind ${kind}`)
    }
    const { context_tokens = 0, output_tokens_max = 0 } = model
    if (output_tokens_max > context_tokens) {
      complain('output_tokens_max', 'is more than the model has context for')
    }
    const { price_input_million = 0n, price_cached_million = 0n } = model
    if (price_cached_million > price_input_million) {
      complain('price_cached_million', 'is more than tokens cost that are not in the cache')
    }
  })
  .transform(
    ({
      price_input_million = 0n,
      price_cached_million,
      price_output_million = 0n,
      price_image = 0n,
      price_video_second = 0n,
      ...model
    }) => ({
      ...model,
      context_tokens: model.context_tokens ?? 0,
      output_tokens_max: CHAT_KINDS.includes(model.kind) ? (model.output_tokens_max ?? 0) : 0,
      input_micro_per_million: price_input_million,
      cached_micro_per_million: price_cached_million ?? price_input_million,
      output_micro_per_million: price_output_million,
      image_micro: price_image,
      video_micro_per_second: price_video_second,
      ...mediaOf(model),
    }),
  )

/** What a model is that a server on the gateway's computer offers by itself: it says no more than its name. */
export const foundModels = z.strictObject({
  context_tokens: tokens.default(8_192),
  output_tokens_max: tokens.default(2_048),
  price_input_million: price,
  price_cached_million: price.optional(),
  price_output_million: price,
})

/** What is taken and made besides text, where the catalogue leaves that out. */
function mediaOf(
  model: Pick<ModelFields, 'kind' | 'sizes' | 'images_max' | 'video_seconds' | 'image_input'>,
) {
  const { kind } = model
  const sizes = { image: ['1024x1024'], video: ['1280x720'] } as Partial<Record<ModelKind, string[]>>
  return {
    sizes: model.sizes ?? sizes[kind] ?? [],
    images_max: model.images_max ?? (kind === 'image' ? 4 : 0),
    video_seconds: model.video_seconds ?? (kind === 'video' ? [5] : []),
    image_input: model.image_input ?? (kind === 'multimodal' ? imageInput.parse({}) : null),
  }
}
