import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Language } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { OpenDatabase } from '../../../../platform/database/open-database.ts'
import type { CountCall } from '../../../../platform/http/rate-counts.ts'
import { startProcessBeside } from '../../../../platform/process-beside.ts'
import { joinStreams } from '../../../../platform/streams/join-streams.ts'
import { CUSTOMER_CHANNEL } from '../../../customers/customers.ts'
import { INSTANCE_CHANNEL, type Instances, type Target } from '../../../instances/instances.ts'
import { isSignedBySecurityKey, SSH_KEY_CHANNEL, type SshKeys } from '../../../ssh-keys/ssh-keys.ts'
import type { LentWay, MachineWays } from '../../machine-ways.ts'
import { isRunning } from '../../running.ts'
import type { MachineTurns } from '../../streams/machine-turns.ts'
import type { StreamLimits } from '../../streams/stream-limits.ts'
import type { Uses } from '../../uses.ts'
import type { SshAttempts } from '../attempts.ts'
import { type KeyFate, letsKeyIn } from '../gateway-side.ts'
import { guestAccess } from '../guest/derive-access.ts'
import { createHostKeys, type HostKey } from '../host-keys.ts'
import type { SshLimits } from '../ssh-limits.ts'
import type { Changed, SshCount } from '../ssh-server.ts'
import { type Handed, handOver } from './handed-socket.ts'
import { createSocketPairs } from './socket-pairs.ts'
import { type Answers, type FromProcess, faultOf, type Lease, type ToProcess } from './words.ts'

/** The SSH server of a gateway, which runs in a process beside it: what customers send and fetch is no work of this one. */
export interface SshBeside {
  /** By which it is known, whatever gateway answers. */
  readonly hostKeys: readonly HostKey[]
  /** Where it listens; null where it does not. */
  address(): AddressInfo | null
  /** @throws What the system says of an address that cannot be listened on. */
  listen(host: string, port: number): Promise<void>
  /** Begins to end connections whose key, customer or instance is gone. @returns The way to stop. */
  watch(): Promise<() => void>
  /** Connections that are open: for metrics and tests. */
  count(): SshCount
  /** Takes nobody new. @returns Once nobody is connected any more, and the process has ended. */
  leave(): Promise<void>
  /** Tells whoever is connected why, and ends them. @returns Once the process has ended. */
  shutdown(): Promise<void>
}

/** What an SSH server is made of beside what all ways into machines need. */
export interface SshParts {
  /** 32 bytes that all gateways have. */
  rootKey: Uint8Array
  sshKeys: Pick<SshKeys, 'holder' | 'fate' | 'list' | 'guestKeys'>
  /** The language of a customer. */
  languageOf(userId: string): Promise<Language>
  /** Counts keys that were refused, over all gateways. */
  countRefusal: CountCall
}

interface SshBesideDeps extends Omit<SshParts, 'sshKeys'> {
  sshKeys: Pick<SshKeys, 'holder' | 'fate' | 'guestKeys'>
  attempts: Pick<SshAttempts, 'note'>
  log: Logger
  listen: OpenDatabase['listen']
  ways: Pick<MachineWays, 'lend'>
  uses: Pick<Uses, 'hold'>
  instances: Pick<Instances, 'findRunning' | 'accessOf'>
  /** When is read what machines send and the process cannot take over as it is. */
  turns: Pick<MachineTurns, 'pace'>
  limits?: Partial<SshLimits> | undefined
  streams?: Partial<StreamLimits> | undefined
}

const SCRIPT = join(import.meta.dirname, 'ssh-process.ts')
/**
 * Bytes that are under way are let go with the small objects before them, which are collected each few megabytes, while
 * both are still near the processor; and all of the heap, which is next to nothing, is looked at when 128 MB have outlived
 * that. Else it is looked at every seven, which was a third of the process's work.
 */
const FLAGS = ['--max-semi-space-size=1', '--initial-old-space-size=128']
/** What has ended by itself is started again, and not without a pause. */
const AGAIN_MS = 1_000
const NOBODY: SshCount = { strangers: 0, customers: 0 }

/** An answer, and the socket that goes with it. */
interface Answer {
  value: unknown
  handed?: Handed
}

/** Makes the server. Its process is started when it is to listen. */
export function createSshBeside(deps: SshBesideDeps): SshBeside {
  const { log, sshKeys, instances } = deps
  const hostKeys = createHostKeys(deps.rootKey)
  const pairs = createSocketPairs()
  let child: ChildProcess | null = null
  let address: AddressInfo | null = null
  let count = NOBODY
  let isStopping = false

  const tell = (told: ToProcess) => {
    if (child?.connected) child.send(told, () => undefined)
  }

  /** @throws What the system says of the address, and of the process. */
  function start(host: string, port: number): Promise<void> {
    const started = Promise.withResolvers<void>()
    const own = startProcessBeside(SCRIPT, FLAGS)
    child = own
    const leases = createLeases()
    const answers = answersOf(leases)
    own.on('message', (said: FromProcess) => {
      if (said.says === 'ask') void answer(own, answers, said)
      else if (said.says === 'give_back') leases.giveBack(said.lease)
      else if (said.says === 'count') count = said.count
      else if (said.says === 'log') log[said.level](said.about, said.text)
      else if (said.says === 'listening') {
        address = said.address
        started.resolve()
      } else {
        started.reject(Object.assign(new Error(said.message), { code: said.code }))
        own.disconnect()
      }
    })
    own.once('error', error => started.reject(error))
    own.once('exit', code => {
      leases.giveAllBack()
      child = null
      count = NOBODY
      started.reject(new Error(`the SSH server's process ended with ${code}`))
      if (isStopping || !address) return
      log.error({ code }, 'the SSH server’s process ended by itself, and is started again')
      setTimeout(startAgain, AGAIN_MS, host, address.port).unref()
      address = null
    })
    const { limits = {}, streams = {} } = deps
    tell({
      tells: 'orders',
      orders: { host, port, hostKeys: hostKeys.map(key => key.text), limits, streams },
    })
    return started.promise
  }
  function startAgain(host: string, port: number): void {
    if (isStopping) return
    start(host, port).catch(error => {
      log.error({ err: error }, 'the SSH server cannot be started again')
      setTimeout(startAgain, AGAIN_MS, host, port).unref()
    })
  }

  /** What the process may ask. */
  function answersOf(leases: Leases): { [What in keyof Answers]: (...asked: never[]) => Promise<Answer> } {
    const plain =
      <Asked extends unknown[]>(work: (...asked: Asked) => unknown) =>
      async (...asked: Asked): Promise<Answer> => ({ value: await work(...asked) })
    const lent = async (target: Target, way: LentWay): Promise<Answer> => {
      await instances.findRunning(target.userId, target.instanceId)
      const { stream, giveBack } = await deps.ways.lend(target.instanceId, way)
      const lease = leases.add(giveBack)
      try {
        const handed = handOver(stream) ?? (await overPair(target.instanceId, stream))
        return { value: { lease, rest: handed.rest } satisfies Lease, handed }
      } catch (error) {
        stream.destroy()
        leases.giveBack(lease)
        throw error
      }
    }
    return {
      holder: plain((key: Uint8Array, userId?: string) => sshKeys.holder(Buffer.from(key), userId)),
      fate: plain(async (userId: string, keyId: string, instanceId: string): Promise<KeyFate> => {
        const [fate, access] = await Promise.all([
          sshKeys.fate(userId, keyId),
          instances.accessOf(instanceId),
        ])
        const isChosen = access?.userId !== userId || letsKeyIn(access, keyId)
        return fate === 'stored' && !isChosen ? 'not_chosen' : fate
      }),
      isSignedBySecurityKey: plain((...bytes: [Uint8Array, Uint8Array, Uint8Array]) => {
        const [key, data, signature] = bytes
        return isSignedBySecurityKey(Buffer.from(key), Buffer.from(data), Buffer.from(signature))
      }),
      accessOf: plain(instances.accessOf),
      languageOf: plain(deps.languageOf),
      countRefusal: plain(deps.countRefusal),
      note: plain(deps.attempts.note),
      isRunning: plain((target: Target) => isRunning(instances, target)),
      guestAccess: plain(async ({ userId, instanceId }: Target) => {
        const { kind } = await instances.findRunning(userId, instanceId)
        return kind === 'VM' ? guestAccess(sshKeys, instanceId) : null
      }),
      hold: async (instanceId: string) => ({
        value: { lease: leases.add(deps.uses.hold(instanceId)), rest: null } satisfies Lease,
      }),
      run: (target: Target, options: Extract<LentWay, { way: 'run' }>['options']) =>
        lent(target, { way: 'run', options }),
      connect: (target: Target, port: number) => lent(target, { way: 'connect', port }),
    }
  }

  /** What is no socket of the kernel's is carried to one here, in the turns of its machine. */
  async function overPair(instanceId: string, stream: Duplex): Promise<Handed> {
    const { near, far } = await pairs.open()
    joinStreams(near, deps.turns.pace(instanceId, stream))
    const handed = handOver(far)
    if (!handed) throw new Error('a socket that was just made is gone')
    return handed
  }

  function stopping(): void {
    isStopping = true
    address = null
  }
  /** Once there is no process. */
  async function gone(): Promise<void> {
    if (child) await once(child, 'exit')
  }

  const changed = (what: Changed) => {
    // Whoever signs in later asks by themselves.
    if (count.customers > 0) tell({ tells: 'changed', changed: what })
  }

  return {
    hostKeys,
    address: () => address,
    listen: start,
    async watch() {
      const stops = await Promise.all([
        deps.listen(
          INSTANCE_CHANNEL,
          instanceId => changed({ instanceId }),
          () => changed('anything'),
        ),
        deps.listen(SSH_KEY_CHANNEL, keyId => changed({ keyId })),
        deps.listen(CUSTOMER_CHANNEL, userId => changed({ userId })),
      ])
      return () => {
        for (const stop of stops) stop()
      }
    },
    count: () => count,
    async leave() {
      stopping()
      tell({ tells: 'leave' })
      await gone()
    },
    async shutdown() {
      stopping()
      tell({ tells: 'stop' })
      await gone()
      pairs.close()
    },
  }
}

async function answer(
  child: ChildProcess,
  answers: Record<keyof Answers, (...asked: never[]) => Promise<Answer>>,
  { id, what, asked }: Extract<FromProcess, { says: 'ask' }>,
): Promise<void> {
  const answered = await answers[what](...(asked as unknown as never[])).catch((error: unknown) => ({
    fault: faultOf(error),
  }))
  if ('fault' in answered) {
    if (child.connected)
      child.send({ tells: 'fault', id, fault: answered.fault } satisfies ToProcess, () => undefined)
    return
  }
  const { value, handed } = answered
  const told: ToProcess = { tells: 'answer', id, value }
  if (!child.connected) return handed?.letGo()
  child.send(told, handed?.handle as never, {}, () => handed?.letGo())
}

/** What is held for a process. */
type Leases = ReturnType<typeof createLeases>

function createLeases() {
  const held = new Map<number, () => void>()
  let last = 0
  let isOver = false
  const giveBack = (lease: number) => {
    held.get(lease)?.()
    held.delete(lease)
  }
  return {
    add(release: () => void): number {
      // What was asked for by a process that has ended meanwhile is nobody's.
      if (isOver) release()
      else held.set(++last, release)
      return last
    },
    giveBack,
    giveAllBack(): void {
      isOver = true
      for (const lease of [...held.keys()]) giveBack(lease)
    },
  }
}
