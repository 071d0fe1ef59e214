import type { InstancesEvent } from '@berth/contract/instance-follow'
import { getInstance } from '@berth/contract/instance-page'
import { type Instance, listInstances } from '@berth/contract/instances'
import { QueryClient } from '@tanstack/react-query'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { madeInstance } from '../instance-fixture.ts'
import { createToldInstances } from './told-instances.ts'

// Goal: in whatever order readings and events come, pages end up with what the instances are. Method: a gateway of plain
// values, whose readings are made at one moment and come at another, and whose events come in order, but late.

const LIST = [listInstances.operation, {}]
const oneOf = (id: string) => [getInstance.operation, { params: { id } }]
const TICK = () => new Promise(resolve => setImmediate(resolve))

function event(part: Partial<InstancesEvent>): InstancesEvent {
  return { instances: [], gone: [], reread: false, ended: null, ...part }
}

function pages() {
  const client = new QueryClient({
    defaultOptions: { queries: { retry: false, gcTime: Number.POSITIVE_INFINITY } },
  })
  const told = createToldInstances(client)
  const stop = told.watch()
  onTestFinished(() => {
    stop()
    client.clear()
  })
  return { client, told, listed: () => client.getQueryData<Instance[]>(LIST) ?? [] }
}

const ids = fc.constantFrom('i-aaaaaa', 'i-bbbbbb', 'i-cccccc', 'i-dddddd')
const step = fc.oneof(
  fc.record({ kind: fc.constant('change' as const), id: ids, isGone: fc.boolean() }),
  fc.record({
    kind: fc.constantFrom(
      'look' as const,
      'tell' as const,
      'begin' as const,
      'make' as const,
      'end' as const,
    ),
  }),
)

test('[B6] in whatever order readings and events come, the list ends up as the instances are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50 }), async steps => {
      const { client, told, listed } = pages()
      const truth = new Map<string, Instance>()
      const changed = new Set<string>()
      const onTheWay: InstancesEvent[] = []
      let version = 0
      let reading: {
        answer: Instance[] | null
        end: (list: Instance[]) => void
        over: Promise<unknown>
      } | null = null
      const list = () => [...truth.values()]
      const look = () => {
        const gone = [...changed].filter(id => !truth.has(id))
        const instances = [...changed].flatMap(id => truth.get(id) ?? [])
        if (changed.size > 0) onTheWay.push(event({ instances, gone }))
        changed.clear()
      }
      const tell = () => {
        const next = onTheWay.shift()
        if (next) told.put(next)
      }
      const end = async () => {
        if (!reading) return
        reading.end(reading.answer ?? list())
        await reading.over
        reading = null
      }
      const begin = () => {
        const { promise, resolve } = Promise.withResolvers<Instance[]>()
        const over = client.fetchQuery({ queryKey: LIST, queryFn: () => promise, staleTime: 0 })
        reading ??= { answer: null, end: resolve, over }
      }
      begin()
      await TICK()
      for (const one of steps) {
        if (one.kind === 'change') {
          version += 1
          changed.add(one.id)
          if (one.isGone) truth.delete(one.id)
          else truth.set(one.id, madeInstance({ instance_id: one.id, name: `v${version}` }))
        } else if (one.kind === 'look') look()
        else if (one.kind === 'tell') tell()
        else if (one.kind === 'begin' && !reading) begin()
        else if (one.kind === 'make' && reading) (reading as { answer: unknown }).answer ??= list()
        else if (one.kind === 'end') await end()
        await TICK()
      }
      await end()
      look()
      while (onTheWay.length > 0) tell()
      const byId = (some: readonly Instance[]) =>
        new Map(some.map(one => [one.instance_id, one.name]).sort() as [])
      expect(byId(listed())).toEqual(byId(list()))
    }),
    { numRuns: 200 },
  )
})

test('[B6] what is new stands where it is in the list, and what has not changed is the same object', async () => {
  const { client, told, listed } = pages()
  const old = madeInstance({ instance_id: 'i-aaaaaa', created_at: '2026-11-20T12:00:00.000Z' })
  const older = madeInstance({ instance_id: 'i-bbbbbb', created_at: '2026-11-19T12:00:00.000Z' })
  client.setQueryData(LIST, [old, older])
  told.put(event({ instances: [{ ...older, name: 'renamed' }] }))
  expect(listed()[0]).toBe(old)
  const made = madeInstance({ instance_id: 'i-cccccc', created_at: '2026-11-21T12:00:00.000Z' })
  told.put(event({ instances: [made] }))
  expect(listed().map(({ name, instance_id }) => [instance_id, name])).toEqual([
    ['i-cccccc', 'machine'],
    ['i-aaaaaa', 'machine'],
    ['i-bbbbbb', 'renamed'],
  ])
  told.put(event({ gone: ['i-aaaaaa'] }))
  expect(listed().map(one => one.instance_id)).toEqual(['i-cccccc', 'i-bbbbbb'])
})

test('[B6] the page of one instance is told as the list is, and hears that it is gone from its own call', async () => {
  const { client, told } = pages()
  const one = madeInstance({ instance_id: 'i-aaaaaa' })
  client.setQueryData(oneOf('i-aaaaaa'), one)
  client.setQueryData(oneOf('i-bbbbbb'), madeInstance({ instance_id: 'i-bbbbbb' }))
  told.put(event({ instances: [{ ...one, status: 'stopping' }] }))
  expect(client.getQueryData<Instance>(oneOf('i-aaaaaa'))?.status).toBe('stopping')
  expect(client.getQueryData<Instance>(oneOf('i-bbbbbb'))?.status).toBe('running')
  told.put(event({ gone: ['i-aaaaaa'] }))
  expect(client.getQueryState(oneOf('i-aaaaaa'))?.isInvalidated).toBe(true)
  expect(client.getQueryState(oneOf('i-bbbbbb'))?.isInvalidated).toBe(false)
})

test('[B6] a reading that began before the stream is there is not trusted: it is read once more', async () => {
  const { client, told } = pages()
  const answers = [Promise.withResolvers<Instance[]>(), Promise.withResolvers<Instance[]>()]
  let asked = 0
  const query = { queryKey: LIST, queryFn: () => answers[asked++]?.promise ?? [], staleTime: 0 }
  const observed = client.getQueryCache().build(client, query)
  void observed.fetch()
  told.put(event({ reread: true }))
  await TICK()
  expect(asked).toBe(1)
  answers[0]?.resolve([])
  await TICK()
  await TICK()
  expect(observed.state.isInvalidated).toBe(true)
})
