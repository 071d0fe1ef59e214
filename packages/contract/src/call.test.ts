import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { type CallInput, defineCall } from './call.ts'
import { BODY_BYTES_MAX } from './limits.ts'

const NOTHING = { operation: 'test.it', path: '/api/it', summary: 'It is a test.', data: z.null() } as const
const looks = { ...NOTHING, method: 'GET', audience: 'guest' } as const
const changes = { ...NOTHING, method: 'POST', audience: 'verified' } as const
const noted = { audit: { target: [] }, stales: ['test.list'] } as const

describe('a call keeps what it was declared with', () => {
  test('its literals are its types, so that handlers are typed by them', () => {
    const call = defineCall({ ...changes, ...noted, spends: true, body: z.object({ amount: z.number() }) })
    expectTypeOf(call.audience).toEqualTypeOf<'verified'>()
    expectTypeOf(call.spends).toEqualTypeOf<true>()
    expectTypeOf(call.operation).toEqualTypeOf<'test.it'>()
    expectTypeOf<CallInput<typeof call>['body']>().toEqualTypeOf<{ amount: number }>()
    expectTypeOf(call.params).toEqualTypeOf<null>()
    expect(call).toMatchObject({ ...changes, ...noted, spends: true, params: null })
  })

  test('what is left out has its default, in value and type', () => {
    const call = defineCall(looks)
    expectTypeOf(call.spends).toEqualTypeOf<false>()
    expectTypeOf(call.readOnly).toEqualTypeOf<true>()
    expectTypeOf(call.envelope).toEqualTypeOf<'berth'>()
    expect(call).toMatchObject({
      timeout: 'default',
      rateClass: 'general',
      readOnly: true,
      spends: false,
      retry: false,
      outlivesNavigation: false,
      aboutSession: false,
      form: false,
      bodyBytesMax: BODY_BYTES_MAX,
      envelope: 'berth',
      audit: null,
      stales: [],
    })
  })
})

describe('a call that does not compile', () => {
  test('changes something, and says nothing of it', () => {
    // @ts-expect-error: no audit entry, no stale reads
    defineCall(changes)
    // @ts-expect-error: no stale reads
    defineCall({ ...changes, audit: { target: [] } })
    // @ts-expect-error: a GET that changes something says so too
    defineCall({ ...looks, readOnly: false })
  })

  test('only looks, and has consequences', () => {
    // @ts-expect-error: nothing is noted of what only looks
    defineCall({ ...looks, audit: { target: [] } })
    // @ts-expect-error: nothing is old after what only looks
    defineCall({ ...looks, stales: ['test.list'] })
    // @ts-expect-error: what spends changes something
    defineCall({ ...looks, spends: true })
  })

  test('names a class that does not exist, or is tried again though it changes something', () => {
    // @ts-expect-error: no such class
    defineCall({ ...looks, rateClass: 'slow' })
    // @ts-expect-error: only what only looks is tried again
    defineCall({ ...changes, ...noted, retry: true })
    // @ts-expect-error: no such part of a call
    defineCall({ ...changes, ...noted, audit: { target: ['query.id'] } })
  })
})
