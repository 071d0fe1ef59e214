import type { InstancesEvent } from '@berth/contract/instance-follow'
import { getInstance } from '@berth/contract/instance-page'
import { type Instance, listInstanceEvents, listInstances } from '@berth/contract/instances'
import type { Query, QueryClient } from '@tanstack/react-query'

/** What is told of instances, on its way into the pages. */
export interface ToldInstances {
  /** Puts an event where pages look: into what was read, and over what is being read. */
  put(event: InstancesEvent): void
  /** Begins to look after readings that are under way. @returns The way to stop. */
  watch(): () => void
}

/** The newest that was told of an instance; null where it is gone. */
interface Told {
  nth: number
  instance: Instance | null
}

/**
 * Keeps the answers of the list, and of the calls for one instance, at what was told. An answer that comes after an event
 * may have been made before it: what was told since it was asked for is put over it.
 * @param client Whose cache the pages read.
 */
export function createToldInstances(client: QueryClient): ToldInstances {
  const cache = client.getQueryCache()
  /** How much had been told when a reading began, by the query's hash. */
  const began = new Map<string, number>()
  const told = new Map<string, Told>()
  let count = 0

  function overlay(query: Query, since: number): void {
    const newer = [...told].filter(([, { nth }]) => nth > since)
    if (newer.length > 0) putInto(query, new Map(newer.map(([id, { instance }]) => [id, instance])))
  }

  function putInto({ queryKey, state }: Query, news: ReadonlyMap<string, Instance | null>): void {
    if (state.data === undefined) return
    if (queryKey[0] === listInstances.operation) {
      client.setQueryData<Instance[]>(queryKey, list => list && withNews(list, news))
    } else {
      const instance = news.get((state.data as Instance).instance_id)
      if (instance) client.setQueryData<Instance>(queryKey, instance)
    }
  }

  const known = (id: string): Instance | undefined => {
    const one = client.getQueryData<Instance>([getInstance.operation, { params: { id } }])
    return one ?? listed().find(({ instance_id }) => instance_id === id)
  }
  const listed = () => client.getQueryData<Instance[]>([listInstances.operation, {}]) ?? []

  /** Its page is told so by its own call, and what happened to it is read by whoever shows it. */
  function rereadBeside(id: string, now: Instance | null): void {
    const params = { params: { id } }
    const before = known(id)
    if (now === null) void client.invalidateQueries({ queryKey: [getInstance.operation, params] })
    if (now === null || before === undefined || isMoreThanProgress(before, now)) {
      void client.invalidateQueries({ queryKey: [listInstanceEvents.operation, params] })
    }
  }

  /** What is being read may have been asked for before all was told: it is read once more when it is there. */
  async function readAgain(): Promise<void> {
    const queries = cache.findAll({ predicate: isOfInstances })
    await Promise.allSettled(
      queries.filter(({ state }) => state.fetchStatus === 'fetching').map(({ promise }) => promise),
    )
    await client.invalidateQueries({ predicate: query => isOfInstances(query) || isOfEvents(query) })
  }

  return {
    put({ instances, gone, reread }) {
      count += 1
      const news = new Map<string, Instance | null>()
      for (const id of gone) news.set(id, null)
      for (const instance of instances) news.set(instance.instance_id, instance)
      for (const [id, instance] of news) {
        rereadBeside(id, instance)
        if (began.size > 0) told.set(id, { nth: count, instance })
      }
      if (news.size > 0) for (const query of cache.findAll({ predicate: isOfInstances })) putInto(query, news)
      if (reread) void readAgain()
    },
    watch() {
      const stop = cache.subscribe(event => {
        if (event.type !== 'updated' || !isOfInstances(event.query)) return
        const { queryHash } = event.query
        const { action } = event
        if (action.type === 'fetch') began.set(queryHash, count)
        const since = began.get(queryHash)
        if (since === undefined || action.type === 'fetch' || event.query.state.fetchStatus === 'fetching')
          return
        began.delete(queryHash)
        if (action.type === 'success') overlay(event.query, since)
        if (began.size === 0) told.clear()
      })
      return () => {
        stop()
        began.clear()
        told.clear()
      }
    },
  }
}

/** Progress comes by the second and is no event; neither is what it costs. */
function isMoreThanProgress(before: Instance, now: Instance): boolean {
  const bare = (one: Instance) =>
    JSON.stringify({ ...one, cost_micro: '', progress: one.progress?.step ?? null })
  return bare(before) !== bare(now)
}

/** A list, newest first, with what is new in it. What has not changed stays the same object. */
function withNews(list: readonly Instance[], news: ReadonlyMap<string, Instance | null>): Instance[] {
  const left = new Map(news)
  const kept = list.flatMap(one => {
    const now = left.get(one.instance_id)
    left.delete(one.instance_id)
    if (now === undefined) return one
    return now ?? []
  })
  const added = [...left.values()].filter(one => one !== null)
  return added.length === 0 ? kept : [...added, ...kept].sort(newestFirst)
}

function newestFirst(one: Instance, other: Instance): number {
  const byTime = Date.parse(other.created_at) - Date.parse(one.created_at)
  if (byTime !== 0) return byTime
  return one.instance_id < other.instance_id ? 1 : -1
}

const isOfInstances = ({ queryKey }: Pick<Query, 'queryKey'>) =>
  queryKey[0] === listInstances.operation || queryKey[0] === getInstance.operation
const isOfEvents = ({ queryKey }: Pick<Query, 'queryKey'>) => queryKey[0] === listInstanceEvents.operation
