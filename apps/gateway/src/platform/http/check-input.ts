import type { Call } from '@berth/contract/call'
import type * as z from 'zod'
import { ApiError } from './api-error.ts'
import { type BrokenField, brokenFields, fieldsError } from './field-errors.ts'
import { shapeOf, unknownFields, unstorableTexts } from './input-shape.ts'

/** The parts of a request that its call describes. */
export interface CallInputs {
  params: unknown
  query: unknown
  body: unknown
}

/** Checks a request's parts and gives what the schemas made of them. */
export type InputCheck = (raw: CallInputs) => CallInputs

const NOTHING: CallInputs = { params: undefined, query: undefined, body: undefined }

/**
 * Makes the check of a call's input, once for each call.
 *
 * A path that fits no resource is answered like one that does not exist. Unknown fields of a body are refused,
 * but for calls in Casdoor's envelope, whose clients send more than they need to.
 */
export function createInputCheck(call: Call): InputCheck {
  const { params, query, body } = call
  if (!params && !query && !body) return () => NOTHING
  const bodyShape = body && call.envelope === 'berth' ? shapeOf(body) : null

  return raw => {
    const broken: BrokenField[] = []
    const checked: CallInputs = { ...NOTHING }
    if (params) {
      const result = params.safeParse(raw.params)
      if (!result.success || unstorableTexts(raw.params).length > 0) throw new ApiError('not_found')
      checked.params = result.data
    }
    if (query) checked.query = checkPart(query, raw.query, broken)
    if (body) {
      // A call without a body is one with an empty body: its missing fields are named.
      const given = raw.body ?? {}
      checked.body = checkPart(body, given, broken)
      if (bodyShape) broken.push(...unknownFields(bodyShape, given))
    }
    if (broken.length > 0) throw fieldsError(broken)
    return checked
  }
}

function checkPart(schema: z.ZodType, raw: unknown, broken: BrokenField[]): unknown {
  broken.push(...unstorableTexts(raw))
  const result = schema.safeParse(raw)
  if (!result.success) broken.push(...brokenFields(result.error, raw))
  return result.data
}
