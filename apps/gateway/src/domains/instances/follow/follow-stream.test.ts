import { once } from 'node:events'
import { Writable } from 'node:stream'
import type { InstancesEvent } from '@berth/contract/instance-follow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Changes, createFollowStream, eventOf } from './follow-stream.ts'

// Goal: whenever and however slowly somebody reads, the newest is what they know in the end, and little is kept for them.
// Method: changes and reads in any order, against what is true.

const WAITING_MAX = 3
const DATA = 'data: '

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('change' as const), id: ids, isGone: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('missed' as const) }) },
)

/** A reader who takes one piece at a time, when asked to. */
function reader() {
  const stream = createFollowStream({ waitingMax: WAITING_MAX })
  const known = new Map<string, number>()
  const events: InstancesEvent[] = []
  let held: { text: string; done: () => void } | null = null
  const sink = new Writable({
    highWaterMark: 1,
    write(chunk, _, done) {
      held = { text: String(chunk), done }
    },
  })
  stream.answer.pipe(sink)

  function hear(event: InstancesEvent, truth: ReadonlyMap<string, number>): void {
    events.push(event)
    expect(event.instances.length + event.gone.length).toBeLessThanOrEqual(WAITING_MAX)
    for (const [id, version] of event.instances as unknown as [string, number][]) known.set(id, version)
    for (const id of event.gone) known.delete(id)
    if (!event.reread) return
    known.clear()
    for (const [id, version] of truth) known.set(id, version)
  }

  return {
    stream,
    known,
    events,
    /**
     * Takes the next piece, where there is one.
     * @param truth What a reading of all gives at this moment.
     */
    async take(truth: ReadonlyMap<string, number> = new Map()): Promise<string | null> {
      await new Promise(resolve => setImmediate(resolve))
      if (!held) return null
      const { text, done } = held
      held = null
      if (text.startsWith(DATA)) hear(JSON.parse(text.slice(DATA.length)) as InstancesEvent, truth)
      done()
      await new Promise(resolve => setImmediate(resolve))
      return text
    },
  }
}

function changesOf(id: string, version: number | null): Changes {
  const byId = new Map([[id, version === null ? null : JSON.stringify([id, version])]])
  return { byId, event: eventOf(byId) }
}

test('[B6] however slowly somebody reads, the newest is what they know in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const { stream, known, take } = reader()
      const truth = new Map<string, number>()
      let version = 0
      for (const one of steps) {
        if (one.kind === 'take') await take(truth)
        else if (one.kind === 'missed') stream.missed()
        else {
          version += 1
          if (one.isGone) truth.delete(one.id)
          else truth.set(one.id, version)
          stream.tell(changesOf(one.id, one.isGone ? null : version))
        }
      }
      while ((await take(truth)) !== null);
      expect(new Map([...known].sort())).toEqual(new Map([...truth].sort()))
      stream.answer.destroy()
    }),
  )
})

test('[B6] for one who reads nothing no more is kept after a million changes than after a few', async () => {
  const { stream, take, events } = reader()
  await take()
  const text = JSON.stringify('x'.repeat(1_000))
  for (let change = 0; change < 1_000_000; change++) {
    const byId = new Map([[`i-${change % 50}`, text]])
    stream.tell({ byId, event: eventOf(byId) })
    if (change === 1) await new Promise(resolve => setImmediate(resolve))
  }
  expect(stream.answer.readableLength).toBeLessThan(2 * eventOf(new Map([['i-0', text]])).length)
  while ((await take()) !== null);
  // What was under way, and then one word for all the rest.
  expect(events.length).toBeLessThanOrEqual(4)
  expect(events.at(-1)).toEqual({ instances: [], gone: [], reread: true, ended: null })
})

test('[B6] signs of life are sent in silence, and one who takes none is cut off', async () => {
  const { stream, take } = reader()
  await take()
  for (let beat = 0; beat < 5; beat++) {
    stream.alive()
    expect(await take()).toBe(':\n\n')
  }
  const closed = once(stream.answer, 'close')
  for (let beat = 0; beat < 4; beat++) {
    stream.alive()
    await new Promise(resolve => setImmediate(resolve))
  }
  await closed
  expect(stream.answer.destroyed).toBe(true)
})

test('[B12] what ends says why, behind what waited, and tells nothing more', async () => {
  const { stream, take, events } = reader()
  await take()
  for (const id of ['a', 'b']) stream.tell(changesOf(id, 1))
  stream.end('session')
  stream.tell(changesOf('c', 1))
  stream.end('gateway')
  while ((await take()) !== null);
  expect(events.at(-1)?.ended).toBe('session')
  expect(JSON.stringify(events)).not.toContain('"c"')
  expect(stream.answer.readableEnded).toBe(true)
})
