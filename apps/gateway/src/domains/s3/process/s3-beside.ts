import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { startProcessBeside } from '../../../platform/process-beside.ts'
import type { GatewaySide } from '../gateway-side.ts'
import type { FromProcess, HopSockets, ToProcess } from './words.ts'

const SCRIPT = join(import.meta.dirname, 's3-process.ts')
const FLAGS = ['--max-old-space-size=512']
type Question = Extract<FromProcess, { says: 'find_key' | 'find_volume' }>
/** What has ended by itself is started again, and not without a pause. */
const AGAIN_MS = 1_000

/**
 * The S3 server of a gateway, in a process beside it: what customers send and fetch is no work of the gateway's thread, and
 * a fault there takes nothing else along. It is told of each key what it needs to know, and has no settings, no database and
 * no secret besides.
 */
export function createS3Beside(deps: {
  gateway: GatewaySide
  hostName: string | null
  trustedProxies: readonly string[]
  /** Opens the sockets by which requests go to other gateways and come from them. */
  openHops(): Promise<HopSockets>
  log: Logger
}) {
  const { log, gateway, hostName, trustedProxies } = deps
  let child: ChildProcess | null = null
  let address: AddressInfo | null = null
  let isStopping = false

  const tell = (told: ToProcess) => {
    if (child?.connected) child.send(told, () => undefined)
  }

  const lookUp = async (said: Question): Promise<ToProcess> =>
    said.says === 'find_key'
      ? { tells: 'key', id: said.id, key: await gateway.findKey(said.asked) }
      : { tells: 'volume', id: said.id, volume: await gateway.findVolume(said.asked) }

  async function answer(own: ChildProcess, said: Question): Promise<void> {
    const told = await lookUp(said).catch((error): ToProcess => {
      log.error({ err: error, asked: said.says }, 'an S3 key or its volume could not be looked up')
      return { tells: 'fault', id: said.id, why: 'the gateway could not look it up' }
    })
    if (own.connected) own.send(told, () => undefined)
  }

  /** @throws What the system says of the address, and of the process. */
  async function start(host: string, port: number): Promise<void> {
    const hops = await deps.openHops()
    const started = Promise.withResolvers<void>()
    const own = startProcessBeside(SCRIPT, FLAGS)
    child = own
    own.on('message', (said: FromProcess) => {
      if (said.says === 'find_key' || said.says === 'find_volume') void answer(own, said)
      else if (said.says === 'used') gateway.noteUse(said.accessKeyId, said.from)
      else if (said.says === 'log') log[said.level](said.about, said.text)
      else if (said.says === 'listening') {
        address = said.address
        started.resolve()
      } else {
        started.reject(Object.assign(new Error(said.message), { code: said.code }))
        own.disconnect()
      }
    })
    own.once('error', started.reject)
    own.once('exit', code => {
      if (child === own) child = null
      started.reject(new Error(`the S3 server's process ended with ${code}`))
      if (isStopping || !address) return
      log.error({ code }, 'the S3 server’s process ended by itself, and is started again')
      setTimeout(startAgain, AGAIN_MS, host, address.port).unref()
      address = null
    })
    tell({ tells: 'orders', orders: { host, port, hostName, trustedProxies, hops } })
    return started.promise
  }
  function startAgain(host: string, port: number): void {
    if (isStopping) return
    start(host, port).catch(error => {
      log.error({ err: error }, 'the S3 server cannot be started again')
      setTimeout(startAgain, AGAIN_MS, host, port).unref()
    })
  }

  return {
    /** Where it listens; null where it does not. */
    address: () => address,
    /** Its process, for tests that kill it; null while there is none. */
    pid: () => child?.pid ?? null,
    listen: start,
    /** Has it remove leftovers in folders of volumes. */
    sweep: (paths: readonly string[]) => tell({ tells: 'sweep', paths }),
    /** Has it ask again what it knows of keys. */
    forgetKeys: () => tell({ tells: 'keys_changed' }),
    /** Has it ask again what it knows of a volume, or of all. */
    forgetVolumes: (volumeId?: string) => tell({ tells: 'volume_changed', volumeId: volumeId ?? null }),
    /** Takes no new request. @returns Once what is under way has been answered, and the process has ended. */
    async leave(): Promise<void> {
      isStopping = true
      address = null
      const own = child
      if (!own) return
      tell({ tells: 'leave' })
      await once(own, 'exit')
    },
    /** Cuts what is left. */
    shutdown(): void {
      isStopping = true
      address = null
      child?.kill('SIGKILL')
    },
  }
}
