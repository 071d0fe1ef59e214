import { micro, timestamp } from '@berth/contract/fields'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { type Camel, camelOf, columnsOf, wireOf } from './wire.ts'

const entity = z.object({
  id: z.string(),
  kind: z.enum(['POD', 'VM']),
  gpu_count: z.number().int(),
  created_at: timestamp,
  ended_at: timestamp.nullable(),
  cost_micro: micro,
  ports: z.array(z.number()),
})
const row = {
  id: 'i-1',
  kind: 'POD' as const,
  gpuCount: 2,
  createdAt: new Date('2026-01-02T03:04:05.006Z'),
  endedAt: null,
  costMicro: -9_007_199_254_740_993n,
  ports: [80],
}
const toWire = wireOf(entity)

describe('a row on the wire', () => {
  test('it has the keys of its schema, moments as ISO texts and money as decimal ones', () => {
    expect(toWire(row)).toEqual({
      id: 'i-1',
      kind: 'POD',
      gpu_count: 2,
      created_at: '2026-01-02T03:04:05.006Z',
      ended_at: null,
      cost_micro: '-9007199254740993',
      ports: [80],
    })
    expect(toWire({ ...row, endedAt: row.createdAt }).ended_at).toBe('2026-01-02T03:04:05.006Z')
  })

  test('a column that the schema does not name stays inside, whatever rows are made from', () => {
    const table = { ...row, userId: 'u', passwordHash: 'secret', gpu_count: 9 }
    expect(Object.keys(toWire(table))).toEqual(Object.keys(entity.shape))
    expect(toWire(table).gpu_count).toBe(2)
  })

  test('what it gives is what the contract takes, for any row', () => {
    const rows = fc.record({
      id: fc.string(),
      kind: fc.constantFrom('POD' as const, 'VM' as const),
      gpuCount: fc.integer(),
      createdAt: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }),
      endedAt: fc.option(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })),
      costMicro: fc.bigInt(),
      ports: fc.array(fc.integer()),
    })
    fc.assert(
      fc.property(rows, given => {
        const wire = toWire(given)
        expect(entity.strict().parse(wire)).toEqual(wire)
        expect(new Date(wire.created_at)).toEqual(given.createdAt)
        expect(BigInt(wire.cost_micro)).toBe(given.costMicro)
      }),
    )
  })

  test('a missing column and one of another type do not compile', () => {
    const { gpuCount, ...without } = row
    // @ts-expect-error The schema wants `gpu_count`.
    toWire(without)
    // @ts-expect-error A number is a number on both sides.
    toWire({ ...row, gpuCount: String(gpuCount) })
    // @ts-expect-error A moment is held as a date.
    toWire({ ...row, createdAt: '2026-01-02T03:04:05Z' })
    // @ts-expect-error Only what may be null on the wire may be null inside.
    toWire({ ...row, createdAt: null })
    // @ts-expect-error One of the schema's words.
    toWire({ ...row, kind: 'pod' })
    // @ts-expect-error What is added by hand is named as in the schema.
    toWire({ ...row, gpuCounts: 1 })
    expectTypeOf(toWire).returns.toEqualTypeOf<z.infer<typeof entity>>()
  })
})

test('what came in has the names of columns, and comes out as it was', () => {
  const body = z.object({
    name: z.string(),
    http_ports: z.array(z.number()),
    env: z.record(z.string(), z.string()),
  })
  const came = { name: 'a', http_ports: [80], env: { MY_KEY: 'kept_as_it_is' } }
  const columns = columnsOf(came)
  expect(columns).toEqual({ name: 'a', httpPorts: [80], env: { MY_KEY: 'kept_as_it_is' } })
  expectTypeOf(columns).toEqualTypeOf<{ name: string; httpPorts: number[]; env: { MY_KEY: string } }>()
  expect(wireOf(body)(columns)).toEqual(came)
})

describe('names', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]*$/)

  test('each word after the first begins with a capital, and the words can be told apart again', () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), words => {
        const name = camelOf(words.join('_'))
        expect(name).not.toContain('_')
        expect(name.replace(/[A-Z]/g, capital => `_${capital.toLowerCase()}`)).toBe(words.join('_'))
        expect(camelOf(name)).toBe(name)
      }),
    )
  })

  test('the type says the same', () => {
    expectTypeOf<Camel<'stopped_micro_per_day'>>().toEqualTypeOf<'stoppedMicroPerDay'>()
    expectTypeOf<Camel<'userAgent'>>().toEqualTypeOf<'userAgent'>()
    expectTypeOf(camelOf('a_b2_c')).toEqualTypeOf<'aB2C'>()
    expect(camelOf('a_b2_c')).toBe('aB2C')
    expectTypeOf(camelOf('a_2')).toEqualTypeOf<'a2'>()
    expect(camelOf('a_2')).toBe('a2')
  })
})
