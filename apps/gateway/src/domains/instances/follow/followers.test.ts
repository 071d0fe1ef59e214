import type { Instance } from '@berth/contract/instances'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { SeenInstance } from '../reads.ts'
import { createFollowers } from './followers.ts'

// Goal: whoever follows hears of every change, whatever goes wrong on the way and whoever changes how much. Method: the
// followers of one gateway, and a database of the test's that is away when the test says so.

const LIMITS = { gatherMs: 1, retryMs: 1, readMax: 4, eventMax: 2 }

/** Followers whose customers' instances are named after them. */
async function make({ isOpen = true, failures = 0 } = {}) {
  const asked: string[][] = []
  let failed = 0
  let hear: (payload: string) => void = () => undefined
  const seen = async (ids: string[]): Promise<SeenInstance[]> => {
    asked.push(ids)
    if (failed++ < failures) throw new Error('the database is away')
    return ids.map(id => ({
      id,
      userId: id.split('-')[0] ?? '',
      instance: { instance_id: id } as Partial<Instance> as Instance,
    }))
  }
  const followers = createFollowers({
    seen,
    said: one => one,
    listen: async (_channel, listener) => {
      hear = listener
      return () => undefined
    },
    identity: {
      openAmong: async ids => new Set(isOpen ? ids : []),
      watchSessions: async () => () => undefined,
    },
    log: pino({ level: 'silent' }),
    limits: LIMITS,
  })
  const stop = await followers.watch()
  const follow = async (userId: string) => {
    const answer = await followers.follow({ userId, sessionId: userId, address: '::1', language: 'en' })
    let text = ''
    answer.on('data', (piece: Buffer) => {
      text += piece
    })
    return () => text
  }
  return { asked, follow, stop, change: (id: string) => hear(`${id.split('-')[0]} ${id}`) }
}

test('[B6] what could not be read when it changed is read and told once it can be', async () => {
  const { follow, change, stop } = await make({ failures: 2 })
  const heard = await follow('anna')
  change('anna-1')
  await expect.poll(heard).toContain('"anna-1"')
  stop()
})

test('[B6] who changes much at once holds nobody up: of each reading a customer has a share', async () => {
  const { follow, change, asked, stop } = await make()
  const [anna, ben] = [await follow('anna'), await follow('ben')]
  for (let count = 0; count < 9; count++) change(`anna-${count}`)
  change('ben-0')
  await expect.poll(ben).toContain('"ben-0"')
  expect(asked[0]).toEqual(['anna-0', 'anna-1', 'ben-0'])
  await expect.poll(anna).toContain('"anna-8"')
  expect(asked.every(ids => ids.length <= LIMITS.readMax)).toBe(true)
  stop()
})

test('[B12] a session that ended while it was asked ends what it follows', async () => {
  const { follow, stop } = await make({ isOpen: false })
  const heard = await follow('anna')
  await expect.poll(heard).toContain('"ended":"session"')
  stop()
})
