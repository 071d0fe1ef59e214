import type * as z from 'zod'

/** A name of the wire as it is spelled inside: `created_at` is `createdAt`; one that is camelCase already stays. */
export type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** What is held inside for a value of the wire: a moment is a date, a number that is told as text may be a bigint. */
type Held<Value> =
  Value extends z.ZodNullable<infer Inner>
    ? Held<Inner> | null
    : Value extends z.ZodISODateTime
      ? Date
      : Value extends z.ZodString
        ? string | bigint
        : z.output<Value>

type Columns<Shape extends z.ZodRawShape> = {
  [Key in keyof Shape & string as Camel<Key>]: Held<Shape[Key]>
}

/**
 * Makes the one place where an entity is put on the wire, from the contract's own schema of it: its keys are taken
 * from columns of the same names in camelCase, moments become ISO texts and bigints decimal ones. What is no column
 * is added to the row under its camelCase name. A column that the entity lacks never gets out; one that it wants
 * and that is missing, or holds something else, does not compile. What is inside of a value, such as an object of JSON, is left as it is.
 * @param entity A schema of the contract. Call this once for each: the keys are looked up here.
 * @returns Makes the entity of a row.
 */
export function wireOf<Shape extends z.ZodRawShape>(
  entity: z.ZodObject<Shape>,
): (row: Columns<Shape>) => z.output<z.ZodObject<Shape>> {
  const keys = Object.keys(entity.shape).map(key => [key, camelOf(key)] as const)
  return row => {
    const columns: Readonly<Record<string, unknown>> = row
    const wire: Record<string, unknown> = {}
    for (const [key, column] of keys) wire[key] = spell(columns[column])
    // Key by key this is what `Columns` says; TypeScript cannot follow that for any shape.
    return wire as z.output<z.ZodObject<Shape>>
  }
}

/**
 * The other way: what came in, under the names of columns. Only names change, so this is for bodies, whose values
 * their schema has checked and made.
 */
export function columnsOf<Body extends object>(
  body: Body,
): { [Key in keyof Body & string as Camel<Key>]: Body[Key] } {
  const columns = Object.entries(body).map(([key, value]) => [camelOf(key), value])
  return Object.fromEntries(columns) as ReturnType<typeof columnsOf<Body>>
}

/** The camelCase of a name of the wire. */
export function camelOf<Name extends string>(name: Name): Camel<Name> {
  const [head = '', ...tail] = name.split('_')
  return [head, ...tail.map(part => part.charAt(0).toUpperCase() + part.slice(1))].join('') as Camel<Name>
}

function spell(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'bigint' ? value.toString() : value
}
