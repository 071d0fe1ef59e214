import { MODEL_BODY_BYTES_MAX } from '@berth/contract/limits'
import type * as z from 'zod'
import { ApiError } from '../../../platform/http/api-error.ts'
import { fieldPath } from '../../../platform/http/field-errors.ts'
import { faultOf } from '../../../platform/http/json-scan.ts'
import type { Ids } from '../../../platform/ids.ts'
import { type Lifted, liftLongTexts } from './long-texts.ts'

/** More than any question has: thousands of messages, and tools whose arguments have parts of their own. */
const JSON_LIMITS = { levelsMax: 64, partsMax: 200_000, namesMax: 10_000 }
/** A body may have any number of faults; the answer stays short. */
const FIELDS_TOLD_MAX = 100

/**
 * Reads what a model is asked.
 * @param json Without its long texts.
 * @param schema What the gateway itself reads of it.
 * @throws ApiError `body_too_large`, `malformed_json`, `duplicate_key`, `validation_failed`
 */
export function readAsked<Schema extends z.ZodType>(json: Buffer, schema: Schema): z.output<Schema> {
  requireShort(json.length)
  const fault = faultOf(json.toString('utf8'), JSON_LIMITS)
  if (fault?.kind === 'overdone') throw fieldError('', 'too_large')
  if (fault) {
    throw new ApiError('duplicate_key', { fields: [{ path: fieldPath('', fault.key), rule: 'duplicate' }] })
  }
  const value = jsonOf(json)
  if (value === null) throw new ApiError('malformed_json')
  const read = schema.safeParse(value)
  if (read.success) return read.data
  // Each field that is not known is named: it is not passed on.
  const paths = read.error.issues.flatMap(issue =>
    issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...issue.path, key]) : [issue.path],
  )
  const fields = paths.slice(0, FIELDS_TOLD_MAX).map(path => ({
    path: path.reduce<string>((all, key) => fieldPath(all, String(key)), ''),
    rule: 'not_allowed',
  }))
  throw new ApiError('validation_failed', { fields })
}

/** Holds words to what a question may have, however many pictures it has beside them. @throws ApiError `body_too_large` */
export function requireShort(bytes: number): void {
  if (bytes > MODEL_BODY_BYTES_MAX) throw tooLong()
}

/** What a model is asked, its long texts set apart. @throws ApiError `body_too_large` */
export function liftAsked(json: Buffer, ids: Pick<Ids, 'secret'>): Lifted {
  const lifted = liftLongTexts(json, ids)
  if (lifted === null) throw tooLong()
  return lifted
}

function tooLong(): ApiError {
  return new ApiError('body_too_large', {
    values: { limit: `${Math.floor(MODEL_BODY_BYTES_MAX / 1_000_000)} MB` },
  })
}

/** One field that is at fault. */
export function fieldError(path: string, rule: string): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}

/** An object of a JSON text; null where it is none. */
export function jsonOf(text: Buffer | string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Gathers an answer. @throws Error where there is more than that. */
export async function gather(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > bytesMax) throw new Error('the answer is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
