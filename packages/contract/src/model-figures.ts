import * as z from 'zod'
import { defineCall } from './call.ts'

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

export const modelFigureCalls = [listModelFigures] as const
