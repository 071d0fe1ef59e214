import * as z from 'zod'
import { defineCall } from './call.ts'
import { micro } from './fields.ts'

/** What a model takes and gives: text; text and pictures in, text out. */
export const MODEL_KINDS = ['chat', 'multimodal'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** What a model can do besides, as its operator says. */
export const MODEL_CAPABILITIES = ['tools', 'json', 'reasoning'] as const
export type ModelCapability = (typeof MODEL_CAPABILITIES)[number]

/** A hosted model, as the catalogue offers it (R1.5). */
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

export const modelCalls = [listModels] as const
