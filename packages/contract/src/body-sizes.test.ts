import { expect, test } from 'vitest'
import * as z from 'zod'
import type { Call } from './call.ts'
import { calls } from './calls.ts'
import { BODY_BYTES_MAX, ENV_VARIABLES_MAX } from './limits.ts'

/**
 * Goal: every legal body is read, and nobody sends more than a call needs (`bodyBytesMax`).
 * Method: the longest body that a call's schema takes is measured, with each character escaped to six bytes.
 */

/** The parts of JSON Schema that say how long a body may be. */
interface Schema {
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  type?: string
  maxLength?: number
  pattern?: string
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  propertyNames?: Schema
  additionalProperties?: Schema | boolean
}

const ESCAPED_BYTES = 6
const NUMBER_BYTES = 25
/** Of a text whose pattern repeats nothing without an end. */
const PATTERN_CHARS = 64

const withBody = (calls as readonly Call[]).filter(call => call.body !== null)

test.each(withBody.map(call => [call.operation, call] as const))(
  '%s reads its longest legal body, and takes more than most only where that needs it',
  (_operation, { body, bodyBytesMax }) => {
    // Without the registry of names, nothing is a reference.
    const form = { io: 'input', metadata: z.registry<{ id?: string }>() } as const
    const longest = bytesOf(z.toJSONSchema(body as z.ZodType, form) as Schema)
    expect(longest).toBeLessThanOrEqual(bodyBytesMax)
    if (bodyBytesMax > BODY_BYTES_MAX) expect(longest).toBeGreaterThan(BODY_BYTES_MAX)
  },
)

/** @returns Infinity for a schema that has no limit. */
function bytesOf(schema: Schema): number {
  if (schema.const !== undefined) return JSON.stringify(schema.const).length
  if (schema.enum) return Math.max(...schema.enum.map(value => JSON.stringify(value).length))
  if (schema.anyOf) return Math.max(...schema.anyOf.map(bytesOf))
  switch (schema.type) {
    case 'string':
      return textBytes(schema)
    case 'array':
      return (schema.maxItems ?? Number.POSITIVE_INFINITY) * (bytesOf(schema.items ?? {}) + 1) + 2
    case 'object':
      return objectBytes(schema)
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      return NUMBER_BYTES
    default:
      return Number.POSITIVE_INFINITY
  }
}

function textBytes({ maxLength, pattern }: Schema): number {
  const isBounded = pattern !== undefined && !/[*+]/.test(pattern)
  const chars = maxLength ?? (isBounded ? PATTERN_CHARS : Number.POSITIVE_INFINITY)
  return chars * ESCAPED_BYTES + 2
}

function objectBytes({ properties = {}, propertyNames, additionalProperties }: Schema): number {
  const named = Object.entries(properties).map(
    ([name, schema]) => name.length * ESCAPED_BYTES + bytesOf(schema),
  )
  const total = named.reduce((sum, bytes) => sum + bytes + 4, 2)
  if (!propertyNames || typeof additionalProperties !== 'object') return total
  // The one record is an instance's environment; a refinement bounds it, which no JSON Schema says.
  return total + ENV_VARIABLES_MAX * (bytesOf(propertyNames) + bytesOf(additionalProperties) + 2)
}
