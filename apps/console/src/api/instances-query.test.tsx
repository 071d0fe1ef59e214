import { pageInstances } from '@berth/contract/instance-paging'
import type { Instance } from '@berth/contract/instances'
import { INSTANCE_PAGE_SIZE_MAX } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { answerCalls, Refusal } from '../gateway-fixture.tsx'
import { madeInstance } from '../instances/instance-fixture.ts'
import { instancesQuery, pagesOf, readSome, totalOfPart } from './instances-query.ts'
import { queryClient } from './query-client.ts'

const made = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    madeInstance({ instance_id: `i-${String(at).padStart(6, '0')}`, name: `machine-${at}` }),
  )

/** Answers pages of what `all` gives, as the gateway does; a cursor is the number of the first row. */
async function serve(all: () => readonly Instance[], onPage: (cursor: number) => unknown = () => undefined) {
  return answerCalls({
    [pageInstances.operation]: async ({ path }) => {
      const query = new URLSearchParams(path.split('?')[1])
      const wanted = query.get('instance_id')?.split(',')
      const from = Number(query.get('cursor') ?? 0)
      const limit = Number(query.get('limit'))
      const refusal = await onPage(from)
      if (refusal instanceof Refusal) return refusal
      const rows = wanted ? all().filter(one => wanted.includes(one.instance_id)) : all()
      return {
        // As it comes from the wire: no object is the one before.
        items: structuredClone(rows.slice(from, from + limit)),
        next_cursor: from + limit < rows.length ? String(from + limit) : null,
        total: from === 0 ? rows.length : null,
      }
    },
  })
}

const known = () => queryClient.getQueryData<Instance[]>(instancesQuery.queryKey)

test('[R2.26] a large account is read page by page, and its first rows are there before the last', async () => {
  const all = made(INSTANCE_PAGE_SIZE_MAX * 2 + 3)
  const seen: [number, number | null][] = []
  const { sent } = await serve(
    () => all,
    cursor => {
      const rows = known()
      if (cursor > 0 && rows) seen.push([rows.length, totalOfPart(rows)])
    },
  )
  const rows = await queryClient.fetchQuery(instancesQuery)
  expect(rows).toEqual(all)
  expect(totalOfPart(rows)).toBeNull()
  expect(seen).toEqual([
    [INSTANCE_PAGE_SIZE_MAX, all.length],
    [INSTANCE_PAGE_SIZE_MAX * 2, all.length],
  ])
  expect(sent.filter(({ operation }) => operation === pageInstances.operation)).toHaveLength(3)
  expect(pagesOf(rows)).toBe(3)
})

test('a small account takes one call, and so does none', async () => {
  const { sent } = await serve(() => made(20))
  expect(await queryClient.fetchQuery(instancesQuery)).toHaveLength(20)
  expect(sent.filter(({ operation }) => operation === pageInstances.operation)).toHaveLength(1)
  expect([pagesOf([]), pagesOf(undefined)]).toEqual([1, 1])
})

test('a later look draws nothing again that is as before, though all moved down; the old rows stay until it is whole', async () => {
  let all = made(INSTANCE_PAGE_SIZE_MAX + 10)
  const during: (number | undefined)[] = []
  await serve(
    () => all,
    () => during.push(known()?.length),
  )
  const before = await queryClient.fetchQuery(instancesQuery)
  during.length = 0
  const [first, second, ...rest] = all
  all = [
    madeInstance({ instance_id: 'i-newest', name: 'new' }),
    { ...(first as Instance), name: 'renamed' },
    second as Instance,
    ...rest,
  ]
  const after = await queryClient.fetchQuery({ ...instancesQuery, staleTime: 0 })
  expect(during).toEqual([before.length, before.length])
  expect(after.map(({ name }) => name).slice(0, 3)).toEqual(['new', 'renamed', 'machine-1'])
  expect(after[1]).not.toBe(before[0])
  for (const [at, one] of before.entries()) if (at > 0) expect(after[at + 1]).toBe(one)
})

test('a page that fails fails the whole, what is there stays, and the next look begins anew', async () => {
  let isBroken = true
  await serve(
    () => made(INSTANCE_PAGE_SIZE_MAX + 1),
    cursor => (cursor > 0 && isBroken ? new Refusal([], 'cursor_invalid', 400) : undefined),
  )
  await expect(queryClient.fetchQuery(instancesQuery)).rejects.toThrow('refused: cursor_invalid')
  expect(known()).toHaveLength(INSTANCE_PAGE_SIZE_MAX)
  isBroken = false
  // A part is never fresh.
  expect(await queryClient.fetchQuery(instancesQuery)).toHaveLength(INSTANCE_PAGE_SIZE_MAX + 1)
})

test('some of many are read by their ids alone: changed in place, taken out where they are gone', async () => {
  let all = made(INSTANCE_PAGE_SIZE_MAX + 5)
  await serve(() => all)
  const before = await queryClient.fetchQuery(instancesQuery)
  all = all.flatMap((one, at) =>
    at === 3 ? [{ ...one, status: 'stopped' as const }] : at === 4 ? [] : [one],
  )
  await readSome(queryClient, ['i-000003', 'i-000004', 'i-000005'], new AbortController().signal)
  const after = known() ?? []
  expect(after).toHaveLength(before.length - 1)
  expect(after[3]?.status).toBe('stopped')
  expect(after[4]).toBe(before[5])
})
