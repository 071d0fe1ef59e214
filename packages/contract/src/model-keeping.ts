import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { MODEL_KEPT_DAYS_MAX } from './limits.ts'

/** Whether what models are asked and answer is kept, and what is (R1.5). */
export const modelKeeping = z.object({
  /** Days that a call is kept; null where none is, which is how every account begins. */
  days: z.number().int().nullable(),
  /** Calls that are kept now. */
  calls: z.number().int(),
  bytes: z.number().int(),
})
z.globalRegistry.add(modelKeeping, { id: 'ModelKeeping' })
export type ModelKeeping = z.infer<typeof modelKeeping>

export const getModelKeeping = defineCall({
  operation: 'api_key.keeping',
  method: 'GET',
  path: '/api/model-verse/keeping',
  summary: 'Whether prompts and answers of the account are kept, for how many days, and how many are.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: modelKeeping,
})

/** What the form of it sends. */
export const modelKeepingBody = z.object({
  /** Null: nothing is kept any more, and what is kept is deleted. */
  days: z
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(MODEL_KEPT_DAYS_MAX, by('too_large'))
    .nullable(),
})
z.globalRegistry.add(modelKeepingBody, { id: 'ModelKeepingBody' })

export const setModelKeeping = defineCall({
  operation: 'api_key.set-keeping',
  method: 'PUT',
  path: '/api/model-verse/keeping',
  summary:
    'Has prompts and answers kept for so many days, by keys and by the console; or no more, which deletes what is kept.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: [] },
  stales: ['api_key.keeping', 'model.session-log', 'model.call-body'],
  body: modelKeepingBody,
  data: modelKeeping,
})

/** What a call asked and was answered. */
export const keptCallBody = z.object({
  /** As JSON, without its pictures. */
  question: z.string(),
  answer: z.string(),
  /** Whether either was longer than is kept. */
  cut: z.boolean(),
  /** When it will be deleted. */
  deleted_at: timestamp,
})
z.globalRegistry.add(keptCallBody, { id: 'KeptCallBody' })

export const getCallBody = defineCall({
  operation: 'model.call-body',
  method: 'GET',
  path: '/api/model-verse/session-log/{id}/body',
  summary: 'What a call of a model asked and was answered, where that was kept.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: keptCallBody,
})

export const modelKeepingCalls = [getModelKeeping, setModelKeeping, getCallBody] as const
