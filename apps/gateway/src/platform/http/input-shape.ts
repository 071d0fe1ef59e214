import type * as z from 'zod'
import { type BrokenField, fieldPath } from './field-errors.ts'

/** The keys that a schema knows, level by level; made once for each call. */
export type Shape =
  | { kind: 'object'; keys: Map<string, Shape> }
  | { kind: 'array'; item: Shape }
  | { kind: 'record'; value: Shape }
  | { kind: 'any' }

const ANY: Shape = { kind: 'any' }

/**
 * Reads the known keys out of a schema.
 * @param schema Any schema; what is not made of objects, arrays and records is taken as it comes.
 */
export function shapeOf(schema: z.ZodType): Shape {
  const { def } = schema as unknown as { def: SchemaDef }
  switch (def.type) {
    case 'object':
      // A loose object takes any key.
      if (def.catchall && def.catchall.def.type !== 'never') return ANY
      return {
        kind: 'object',
        keys: new Map(Object.entries(def.shape ?? {}).map(([k, v]) => [k, shapeOf(v)])),
      }
    case 'array':
      return { kind: 'array', item: def.element ? shapeOf(def.element) : ANY }
    case 'record':
      return { kind: 'record', value: def.valueType ? shapeOf(def.valueType) : ANY }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
    case 'catch':
      return def.innerType ? shapeOf(def.innerType) : ANY
    case 'pipe':
      return def.in ? shapeOf(def.in) : ANY
    default:
      return ANY
  }
}

/**
 * Fields that no schema knows: a misspelt optional field would else be ignored without a word.
 * @param path Where `value` stands in the input.
 */
export function unknownFields(shape: Shape, value: unknown, path = ''): BrokenField[] {
  if (shape.kind === 'any' || typeof value !== 'object' || value === null) return []
  const at = (key: string) => fieldPath(path, key)
  if (shape.kind === 'array') {
    if (!Array.isArray(value)) return []
    return value.flatMap((item, index) => unknownFields(shape.item, item, at(String(index))))
  }
  if (Array.isArray(value)) return []
  return Object.entries(value).flatMap(([key, child]) => {
    const known = shape.kind === 'record' ? shape.value : shape.keys.get(key)
    return known ? unknownFields(known, child, at(key)) : [{ path: at(key), rule: 'unknown_field' }]
  })
}

/**
 * Strings that PostgreSQL cannot store as they are: with a zero character, or with half of a surrogate pair.
 * @param value A parsed body, or query parameters.
 */
export function unstorableTexts(value: unknown, path = ''): BrokenField[] {
  if (typeof value === 'string') return isStorable(value) ? [] : [{ path, rule: 'not_allowed' }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) =>
    isStorable(key) ? unstorableTexts(child, fieldPath(path, key)) : [{ path, rule: 'not_allowed' }],
  )
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

interface SchemaDef {
  type: string
  shape?: Record<string, z.ZodType>
  catchall?: { def: { type: string } }
  element?: z.ZodType
  valueType?: z.ZodType
  innerType?: z.ZodType
  in?: z.ZodType
}
