import { connect, type Socket } from 'node:net'
import { READ_AHEAD } from '../../../platform/read-ahead.ts'
import type { GatewaySide, KnownKey, KnownVolume } from '../gateway-side.ts'
import { createS3Server, type S3Server } from '../protocol/s3-server.ts'
import type { FromProcess, Orders, ToProcess } from './words.ts'

/** The use of a key is told no more often than this. */
const USED_STEP_MS = 60_000
const USED_KEPT_MAX = 10_000
const LEFTOVERS_STAY = 'leftovers of S3 uploads could not be removed'

let server: S3Server | null = null
const say = (word: FromProcess) => void process.send?.(word, undefined, {}, () => undefined)

const waitingKeys = new Map<number, PromiseWithResolvers<KnownKey | null>>()
const waitingVolumes = new Map<number, PromiseWithResolvers<KnownVolume | null>>()
const usedAt = new Map<string, number>()
let last = 0

const gateway: GatewaySide = {
  findKey(asked) {
    const id = ++last
    say({ says: 'find_key', id, asked })
    return waitFor(waitingKeys, id)
  },
  findVolume(asked) {
    const id = ++last
    say({ says: 'find_volume', id, asked })
    return waitFor(waitingVolumes, id)
  },
  noteUse(accessKeyId, from) {
    const now = Date.now()
    const before = usedAt.get(accessKeyId)
    if (before !== undefined && now - before < USED_STEP_MS) return
    if (usedAt.size >= USED_KEPT_MAX) usedAt.clear()
    usedAt.set(accessKeyId, now)
    say({ says: 'used', accessKeyId, from })
  },
}

function waitFor<Told>(waiting: Map<number, PromiseWithResolvers<Told>>, id: number): Promise<Told> {
  const answered = Promise.withResolvers<Told>()
  waiting.set(id, answered)
  return answered.promise
}

function taken<Told>(waiting: Map<number, Told>, id: number): Told | undefined {
  const one = waiting.get(id)
  waiting.delete(id)
  return one
}

async function serve({ host, port, hops, ...orders }: Orders): Promise<void> {
  server = createS3Server({
    gateway,
    ...orders,
    openHop: ({ gatewayId, userId }) => openHop(hops.asks, gatewayId + userId),
    now: Date.now,
    log: (level, about, text) => say({ says: 'log', level, about, text }),
  })
  try {
    await server.listenForHops(hops.asked)
    say({ says: 'listening', address: await server.listen(host, port) })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    say({ says: 'deaf', code, message })
  }
}

/** What goes wrong is told to whoever uses the stream. */
function openHop(path: string, head: string): Socket {
  const socket = connect({ path, allowHalfOpen: true, ...READ_AHEAD })
  socket.write(head)
  return socket
}

async function sweep(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await server?.sweep(path).catch(error => {
      say({ says: 'log', level: 'warn', about: { path, err: String(error) }, text: LEFTOVERS_STAY })
    })
  }
}

async function leave(): Promise<void> {
  await server?.close()
  process.exit()
}

process.on('message', (told: ToProcess) => {
  if (told.tells === 'orders') void serve(told.orders)
  else if (told.tells === 'keys_changed') server?.forgetKeys()
  else if (told.tells === 'volume_changed') server?.forgetVolumes(told.volumeId)
  else if (told.tells === 'sweep') void sweep(told.paths)
  else if (told.tells === 'leave') void leave()
  else if (told.tells === 'key') taken(waitingKeys, told.id)?.resolve(told.key)
  else if (told.tells === 'volume') taken(waitingVolumes, told.id)?.resolve(told.volume)
  else (taken(waitingKeys, told.id) ?? taken(waitingVolumes, told.id))?.reject(new Error(told.why))
})
// Whoever ends the gateway by a signal to all of its processes has it stop this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
// There is nobody to ask any more.
process.once('disconnect', () => process.exit())
