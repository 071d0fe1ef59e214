import type * as z from 'zod'

/** What of a schema's definition is read here; zod gives it to programs that walk schemas. */
interface Definition {
  type: string
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  valueType?: z.ZodType
  innerType?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
  options?: readonly z.ZodType[]
  entries?: Record<string, string>
  values?: readonly unknown[]
  format?: string
}

const definitionOf = (schema: z.ZodType): Definition => schema._zod.def as unknown as Definition

/**
 * Every path that an issue of a schema can have: names apart by dots. Of a list the second entry stands for all, of a
 * record one with an unlikely name.
 * @param schema A schema of the contract.
 * @returns The empty path, of the whole, comes first.
 */
export function pathsOf(schema: z.ZodType): string[] {
  return walk(schema, '').filter((path, index, all) => all.indexOf(path) === index)
}

function walk(schema: z.ZodType, path: string): string[] {
  const { shape, element, valueType, innerType, in: before, out: after, options } = definitionOf(schema)
  const below = (name: string, inner: z.ZodType) => walk(inner, path === '' ? name : `${path}.${name}`)
  const nested = [
    ...Object.entries(shape ?? {}).flatMap(([name, inner]) => below(name, inner)),
    ...(element ? below('1', element) : []),
    ...(valueType ? below('1BAD "N.AME', valueType) : []),
    ...[innerType, before, after, ...(options ?? [])].flatMap(inner => (inner ? walk(inner, path) : [])),
  ]
  return [path, ...nested]
}

/**
 * A value that an answer may hold, so that a page has something to draw.
 * @param schema The schema of what a call answers.
 */
export function sampleOf(schema: z.ZodType): unknown {
  const {
    type,
    shape,
    element,
    innerType,
    in: before,
    options,
    entries,
    values,
    format,
  } = definitionOf(schema)
  if (shape) return Object.fromEntries(Object.entries(shape).map(([name, inner]) => [name, sampleOf(inner)]))
  if (element) return [sampleOf(element)]
  if (type === 'nullable') return null
  if (innerType) return sampleOf(innerType)
  if (before) return sampleOf(before)
  if (options?.[0]) return sampleOf(options[0])
  if (entries) return Object.values(entries)[0]
  if (values) return values[0]
  if (type === 'number') return 1
  if (type === 'boolean') return true
  if (type === 'record') return {}
  if (type !== 'string') return null
  if (format === 'datetime') return '2026-11-20T18:25:00Z'
  return format === 'date' ? '2026-11-20' : '1'
}
