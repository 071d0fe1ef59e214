import * as z from 'zod'
import { defineCall } from './call.ts'
import { micro } from './fields.ts'
import { MODEL_MEDIA_BODY_BYTES_MAX } from './limits.ts'

/**
 * What a model takes and gives: text; text and pictures in, text out; text in, pictures out; text in, a film out; text in,
 * vectors out.
 */
export const MODEL_KINDS = ['chat', 'multimodal', 'image', 'video', 'embedding'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** The kinds that answer in words, by `model.chat`. */
export const CHAT_KINDS: readonly ModelKind[] = ['chat', 'multimodal']

/** What a model can do besides, as its operator says. */
export const MODEL_CAPABILITIES = ['tools', 'json', 'reasoning'] as const
export type ModelCapability = (typeof MODEL_CAPABILITIES)[number]

/** Pictures that may be sent to a model (R5.10): with one message, or as what a picture or a film is made after. */
const imageInput = z.object({
  count_max: z.number().int(),
  /** Of each. */
  bytes_max: z.number().int(),
  /** Media types, such as `image/png`. */
  types: z.array(z.string()),
})
z.globalRegistry.add(imageInput, { id: 'ModelImageInput' })

/** A hosted model, as the catalogue offers it (R1.5). What it has nothing of is 0, an empty list or null. */
export const model = z.object({
  /** What calls name it by, such as `meta-llama/Llama-3.1-8B-Instruct`. */
  id: z.string(),
  name: z.string(),
  kind: z.enum(MODEL_KINDS),
  /** Who made it. */
  vendor: z.string(),
  description: z.string(),
  /** Tokens that question and answer may have together. */
  context_tokens: z.number().int(),
  /** Tokens that an answer may have. */
  output_tokens_max: z.number().int(),
  capabilities: z.array(z.enum(MODEL_CAPABILITIES)),
  input_micro_per_million: micro,
  /** Of tokens that the server had in its cache. */
  cached_micro_per_million: micro,
  output_micro_per_million: micro,
  /** Of one picture. */
  image_micro: micro,
  /** Sizes of its pictures or films in pixels, such as `1024x1024`; the first stands where none is named. */
  sizes: z.array(z.string()),
  /** Pictures that one call may ask for. */
  images_max: z.number().int(),
  video_micro_per_second: micro,
  /** How long its films may be, in seconds. */
  video_seconds: z.array(z.number().int()),
  /** Pictures that it takes; null where it takes none. */
  image_input: imageInput.nullable(),
  /** So many calls of each customer cost nothing, each day from midnight UTC on. */
  free_calls_per_day: z.number().int(),
  /** True where no server is connected: what answers then says so (B11). */
  demo: z.boolean(),
})
z.globalRegistry.add(model, { id: 'Model' })
export type Model = z.infer<typeof model>

export const listModels = defineCall({
  operation: 'model.list',
  method: 'GET',
  path: '/api/model-verse/model',
  summary: 'Every hosted model, with its price; in the order of the catalogue.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  data: z.array(model),
})

/** The body of a chat, as OpenAI's `/chat/completions` takes it; the other fields that it knows are passed on, and no others (decision 0130). */
const chatAsked = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string() })),
  stream: z.boolean().optional(),
  max_tokens: z.number().int().optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
})

/**
 * What a chat by a session says at the end of a stream, in one event before `[DONE]`: a chunk without choices, which
 * clients that do not know it leave aside. Of an answer that is not streamed the cost stands in the header
 * `x-berth-cost-micro`.
 */
export const chatCost = z.object({
  /** The call in the log of calls. */
  call_id: z.string(),
  cost_micro: micro,
  input_tokens: z.number().int(),
  /** Of those, what was in the server's cache. */
  cached_tokens: z.number().int(),
  output_tokens: z.number().int(),
})
z.globalRegistry.add(chatCost, { id: 'ChatCost' })
export type ChatCost = z.infer<typeof chatCost>

/** Headers of what models answer: the call in the log of calls, and what it cost, where that is known by then. */
export const CALL_HEADER = 'x-berth-call'
export const COST_HEADER = 'x-berth-cost-micro'

const modelConsequences = {
  audit: { because: 'What models are asked is kept nowhere; a log of calls of its own has the rest.' },
  stales: { because: 'Its page follows the answer, and reads balance and calls anew at its end.' },
} as const

export const chat = defineCall({
  operation: 'model.chat',
  method: 'POST',
  path: '/api/model-verse/chat',
  summary: "Asks a model by the session: body and answer are those of OpenAI's chat completions.",
  audience: 'verified',
  timeout: 'deploy',
  raw: chatAsked,
  bodyBytesMax: MODEL_MEDIA_BODY_BYTES_MAX,
  data: z.looseObject({ choices: z.array(z.looseObject({})), berth: chatCost.optional() }),
  ...modelConsequences,
})

/** What pictures are asked by, as OpenAI's `/images/generations` takes it; whatever else it holds is passed on. */
const imageAsked = z.looseObject({
  model: z.string(),
  prompt: z.string(),
  negative_prompt: z.string().optional(),
  /** How many. */
  n: z.number().int().optional(),
  /** One of the model's sizes. */
  size: z.string().optional(),
  /** The same gives the same pictures, where the model can. */
  seed: z.number().int().optional(),
  /** A picture to be made after, as `data:image/png;base64,…`; as a form, the file itself. */
  image: z.string().optional(),
})

/** Pictures as a model gives them: their bytes in base64, or an address. */
const imageAnswer = z.looseObject({
  created: z.number().int(),
  data: z.array(z.looseObject({ b64_json: z.string().optional(), url: z.string().optional() })),
})

export const generateImage = defineCall({
  operation: 'model.generate-image',
  method: 'POST',
  path: '/api/model-verse/generate-image',
  summary: "Has pictures made by the session: body and answer are those of OpenAI's image generations.",
  audience: 'verified',
  timeout: 'deploy',
  raw: imageAsked,
  bodyBytesMax: MODEL_MEDIA_BODY_BYTES_MAX,
  data: imageAnswer,
  ...modelConsequences,
})

export const modelCalls = [listModels, chat, generateImage] as const
