import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { MODEL_ID_CHARS_MAX } from './limits.ts'

/**
 * How a hosted model has answered here, as measured on customers' own calls (R1.5). What was not measured often enough is
 * null: "not measured yet", never zero.
 */
export const modelFigures = z.object({
  model_id: z.string(),
  /** Of half of the streamed calls of the last day the first piece of the answer came sooner. */
  first_token_ms: z.number().int().nullable(),
  /** Half of the streamed answers of the last day came faster, from their first piece to their end; to a tenth. */
  tokens_per_second: z.number().nullable(),
  /**
   * Of a thousand calls of the last seven days, how many were answered. What was wrong with a question counts on neither
   * side, nor does who left before the answer began.
   */
  answered_permille: z.number().int().nullable(),
  /** The calls of the last seven days by which that is told; of many the newest 20,000. */
  calls: z.number().int(),
})
z.globalRegistry.add(modelFigures, { id: 'ModelFigures' })
export type ModelFigures = z.infer<typeof modelFigures>

export const listModelFigures = defineCall({
  operation: 'model.figures',
  method: 'GET',
  path: '/api/model-verse/figures',
  summary: 'How fast and how reliably each hosted model has answered here, in the order of the catalogue.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  data: z.array(modelFigures),
})

/** Days whose answers are told. */
export const MODEL_DAYS = 30

/** How a model has answered on one day. */
export const modelDay = z.object({
  /** Of UTC: `2026-11-01`. */
  day: z.string(),
  /** As {@link modelFigures} counts them; null: not measured, with fewer than twenty calls. */
  answered_permille: z.number().int().nullable(),
  calls: z.number().int(),
})
z.globalRegistry.add(modelDay, { id: 'ModelDay' })
export type ModelDay = z.infer<typeof modelDay>

export const listModelDays = defineCall({
  operation: 'model.days',
  method: 'GET',
  path: '/api/model-verse/figures/days',
  summary: 'How reliably a hosted model has answered here on each of the last thirty days, the oldest first.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  query: z.object({
    model: z.string(by('wrong_type')).min(1, by('required')).max(MODEL_ID_CHARS_MAX, by('too_long')),
  }),
  data: z.array(modelDay).length(MODEL_DAYS),
})

export const modelFigureCalls = [listModelFigures, listModelDays] as const
