import { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { guestFacts, type InstanceLog, instanceLog } from '@berth/contract/instances'
import { LOG_FOLLOWED_LINES_MAX, LOG_LINES_MAX } from '@berth/contract/limits'
import * as z from 'zod'
import { encodeAnswer, encodeFailure, readAnswer } from '../../drivers/compute/port/answers.ts'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import type { AttachOptions, MachineConsole, RunOptions } from '../../drivers/compute/port/console.ts'
import type { MachineNetwork } from '../../drivers/compute/port/network.ts'
import type { GuestFacts, Observation } from '../../drivers/compute/port/observation.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import type { Gateways } from '../../platform/gateways/gateways.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { joinStreams } from '../../platform/streams/join-streams.ts'
import type { WhereAsked } from '../fleet/fleet.ts'
import { plainLog } from './plain-log.ts'
import type { MachineTurns } from './streams/machine-turns.ts'
import type { Uses } from './uses.ts'

/** The parts of an engine by which machines are reached. */
export interface ReachedEngine {
  network: Pick<MachineNetwork, 'connect' | 'udp'>
  console: Pick<MachineConsole, 'attach' | 'sessions' | 'closeSession' | 'programs'>
  observation: Pick<Observation, 'logs' | 'followLogs' | 'keptLog' | 'guest'>
}

/** Which gateway reaches an instance's machine. */
export type Place =
  | { at: 'here'; engine: ReachedEngine }
  | { at: 'elsewhere'; gatewayId: string }
  | { at: 'nowhere'; why: string }

/** Why somebody comes. */
export interface Asking {
  /** Only to see how it is: nobody uses the instance by that, so that it may be idle on (B5). */
  isProbe?: boolean
}

/**
 * Every way into a machine, from whichever gateway was asked: by the engine itself where it is reached from here, else
 * over one hop to the gateway that reaches it. What a machine sends comes in its turns. Each throws ComputeError as the port says, and `engine_unavailable` when
 * no gateway reaches the machine.
 */
export interface MachineWays {
  /**
   * Opens a TCP stream to a port inside the machine; `exhausted` when it has as many as it may have.
   * @param options As `Asking` says.
   */
  connect(instanceId: string, port: number, options?: Asking): Promise<Duplex>
  /**
   * Opens a line to a port inside the machine for datagrams, to be taken up with `openDatagrams`; `exhausted` and
   * `options` as of `connect`, `unsupported` where its engine carries none.
   */
  udp(instanceId: string, port: number, options?: Asking): Promise<Duplex>
  /** Opens a line to a shell of the machine, to be taken up with `openLine`. */
  attach(instanceId: string, session: string, options: AttachOptions): Promise<Duplex>
  /** Runs a program in the machine: a line, to be taken up with `openProgram`; `exhausted` and `isProbe` as of `connect`. */
  run(instanceId: string, options: RunOptions & Asking): Promise<Duplex>
  /**
   * Opens a way as `connect` or `run` does, and gives it as it is: for a process that takes what comes in turns of its
   * own. It counts as open, and as a use, until it is given back.
   */
  lend(instanceId: string, way: LentWay): Promise<Lent>
  /** Names of the machine's shells. */
  sessions(instanceId: string): Promise<string[]>
  /** Ends a shell of the machine. */
  closeSession(instanceId: string, session: string): Promise<void>
  /** The end of what the machine's command wrote, running or not, as plain text. */
  logs(instanceId: string): Promise<InstanceLog>
  /** What the machine's own system says of itself; null where it has none, or none that says anything. */
  guest(instanceId: string): Promise<GuestFacts | null>
  /** The last of what the machine's command wrote, and then what comes, as it was written, until the machine ends. */
  followLogs(instanceId: string): Promise<Duplex>
  /** All that is kept of what the machine's command wrote, running or not, the oldest first, as it was written. */
  keptLog(instanceId: string): Promise<Duplex>
  /** Ends what other gateways look at by this one and has no end of its own: they come back by another. */
  leave(): void
}

/** What a way is lent for. */
export type LentWay = { way: 'connect'; port: number } | { way: 'run'; options: RunOptions }

/** A stream into a machine that nobody has read from. */
export interface Lent {
  stream: Duplex
  /** Says that it is over; the stream itself is whose it was lent to. To be called once. */
  giveBack(): void
}

export interface MachineWaysDeps {
  whereIs(instanceId: string, asked?: WhereAsked): Promise<Place>
  gateways: Pick<Gateways, 'open' | 'serve'>
  /** Who uses which instance: what is opened here is somebody's, until it is closed. */
  uses: Pick<Uses, 'hold'>
  /** When what machines send is read, here and over the hop. */
  turns: MachineTurns
  /** How long a machine is looked for that no gateway reaches at the moment, in milliseconds. */
  findMs?: number | undefined
}

/** The kind of streams between gateways that lead into machines. */
const KIND = 'machine'
/** A gateway that died has its engines taken over by another within about this long. */
const FIND_MS = 4_000
const FIND_POLL_MS = 250
/** The other gateway waits for a machine's side, which has time-outs of its own. */
const ANSWER_MS = 35_000
/** What it means when the other gateway hangs up before it has answered. */
const GONE = {
  code: 'engine_unavailable',
  message: 'the gateway that reaches the machine went away',
} as const

const size = z.number().int().min(1).max(0xffff)
const request = z.discriminatedUnion('way', [
  z.object({ way: z.literal('connect'), instance_id: z.string(), port: z.number().int().min(1).max(65_535) }),
  z.object({ way: z.literal('udp'), instance_id: z.string(), port: z.number().int().min(1).max(65_535) }),
  z.object({
    way: z.literal('attach'),
    instance_id: z.string(),
    session: z.string(),
    cols: size,
    rows: size,
    env: z.record(z.string(), z.string()),
  }),
  z.object({
    way: z.literal('run'),
    instance_id: z.string(),
    command: z.string().nullable(),
    env: z.record(z.string(), z.string()),
    pty: z.object({ cols: z.number(), rows: z.number() }).nullable(),
  }),
  z.object({ way: z.literal('sessions'), instance_id: z.string() }),
  z.object({ way: z.literal('close_session'), instance_id: z.string(), session: z.string() }),
  z.object({ way: z.literal('logs'), instance_id: z.string() }),
  z.object({ way: z.literal('guest'), instance_id: z.string() }),
  z.object({ way: z.literal('follow_logs'), instance_id: z.string() }),
  z.object({ way: z.literal('kept_log'), instance_id: z.string() }),
])
type Request = z.infer<typeof request>

/** Ways that give a stream. */
const STREAMING: readonly Request['way'][] = ['connect', 'udp', 'attach', 'run', 'follow_logs', 'kept_log']
/** Ways that last for as long as somebody looks. */
const LASTING: readonly Request['way'][] = ['attach', 'follow_logs']
/** Ways for which it does not matter which gateway holds the machine's shells. */
const WITHOUT_SHELLS: readonly Request['way'][] = [
  ...(['connect', 'udp', 'run', 'logs', 'guest', 'follow_logs', 'kept_log'] as const),
]

/** What a way gives: an answer, and a stream where it is one that stays open. */
interface Opened {
  answer: unknown
  stream: Duplex | null
}

/** Makes the ways, and serves those into machines that are reached from here to other gateways. */
export function createMachineWays({
  whereIs,
  gateways,
  turns,
  uses,
  findMs = FIND_MS,
}: MachineWaysDeps): MachineWays {
  /** Streams to other gateways that end with whoever looks. */
  const lasting = new Set<Duplex>()

  /** Goes a way, and looks again for a machine whose gateway has just died. */
  async function go(asked: Request): Promise<Opened> {
    const deadline = performance.now() + findMs
    const avoid = new Set<string>()
    const shells = !WITHOUT_SHELLS.includes(asked.way)
    for (;;) {
      const place = await whereIs(asked.instance_id, { avoid, shells })
      try {
        if (place.at === 'here') return await openHere(place.engine, asked)
        if (place.at === 'elsewhere') return await openThere(place.gatewayId, asked)
        throw new ComputeError('engine_unavailable', place.why)
      } catch (error) {
        if (!isAway(error) || performance.now() > deadline) throw error
        if (place.at === 'elsewhere') avoid.add(place.gatewayId)
        else {
          await sleep(FIND_POLL_MS)
          // Whoever did not answer may be back.
          avoid.clear()
        }
      }
    }
  }

  async function openThere(gatewayId: string, asked: Request): Promise<Opened> {
    const stream = await gateways.open(gatewayId, KIND, asked)
    const answer = await readAnswer(stream, ANSWER_MS, GONE)
    if (STREAMING.includes(asked.way)) return { answer, stream }
    stream.destroy()
    return { answer, stream: null }
  }

  gateways.serve(KIND, async (sent, accept) => {
    const asked = request.parse(sent)
    const place = await whereIs(asked.instance_id)
    // One hop and no more: whoever asked looks again.
    if (place.at !== 'here') throw new ApiError('unavailable')
    const far = accept()
    if (LASTING.includes(asked.way)) {
      lasting.add(far)
      far.once('close', () => lasting.delete(far))
    }
    try {
      const { answer, stream } = await inTurns(asked, () => openHere(place.engine, asked))
      far.write(encodeAnswer(answer))
      if (!stream) far.end()
      else if (far.destroyed) stream.destroy()
      else joinStreams(far, stream)
    } catch (error) {
      far.end(encodeFailure(error))
    }
  })

  /** Puts what a way opens under the turns of its machine. */
  async function inTurns(asked: Request, open: () => Promise<Opened>): Promise<Opened> {
    const { instance_id } = asked
    if (asked.way === 'connect' || asked.way === 'udp' || asked.way === 'run') {
      return { answer: null, stream: await turns.connect(instance_id, async () => streamOf(await open())) }
    }
    const { answer, stream } = await open()
    return { answer, stream: stream && turns.pace(instance_id, stream) }
  }
  async function enter(asked: Request, isNoUse = false): Promise<Duplex> {
    const stream = streamOf(await inTurns(asked, () => go(asked)))
    if (isNoUse) return stream
    const release = uses.hold(asked.instance_id)
    if (stream.closed) release()
    else stream.once('close', release)
    return stream
  }

  return {
    connect: (instance_id, port, { isProbe } = {}) => enter({ way: 'connect', instance_id, port }, isProbe),
    udp: (instance_id, port, { isProbe } = {}) => enter({ way: 'udp', instance_id, port }, isProbe),
    attach: (instance_id, session, { cols, rows, env = {} }) =>
      enter({ way: 'attach', instance_id, session, cols, rows, env }),
    run: (instance_id, { isProbe, ...options }) => enter(runRequest(instance_id, options), isProbe),
    async lend(instance_id, lent) {
      const uncount = turns.count(instance_id)
      try {
        const asked: Request =
          lent.way === 'run'
            ? runRequest(instance_id, lent.options)
            : { way: 'connect', instance_id, port: lent.port }
        const stream = streamOf(await go(asked))
        const release = uses.hold(instance_id)
        const giveBack = () => {
          uncount()
          release()
        }
        return { stream, giveBack }
      } catch (error) {
        uncount()
        throw error
      }
    },
    sessions: async instance_id => {
      const { answer } = await go({ way: 'sessions', instance_id })
      return z.array(z.string()).parse(answer)
    },
    closeSession: async (instance_id, session) => {
      await go({ way: 'close_session', instance_id, session })
    },
    logs: async instance_id => instanceLog.parse((await go({ way: 'logs', instance_id })).answer),
    guest: async instance_id => guestFacts.nullable().parse((await go({ way: 'guest', instance_id })).answer),
    // Whoever reads what a machine writes does not use it by that.
    followLogs: instance_id => enter({ way: 'follow_logs', instance_id }, true),
    keptLog: instance_id => enter({ way: 'kept_log', instance_id }, true),
    leave() {
      for (const far of lasting) far.destroy()
    },
  }
}

function runRequest(instance_id: string, { command, env = {}, pty = null }: RunOptions): Request {
  return { way: 'run', instance_id, command, env, pty }
}

async function openHere(engine: ReachedEngine, asked: Request): Promise<Opened> {
  const { instance_id } = asked
  switch (asked.way) {
    case 'connect':
      return { answer: null, stream: await engine.network.connect(instance_id, asked.port) }
    case 'udp':
      return { answer: null, stream: await offered(engine.network.udp).open(instance_id, asked.port) }
    case 'attach':
      return { answer: null, stream: await engine.console.attach(instance_id, asked.session, asked) }
    case 'run':
      return { answer: null, stream: await offered(engine.console.programs).run(instance_id, asked) }
    case 'sessions':
      return { answer: await engine.console.sessions(instance_id), stream: null }
    case 'close_session':
      await engine.console.closeSession(instance_id, asked.session)
      return { answer: null, stream: null }
    case 'logs': {
      // One more than is shown tells whether there are more.
      const log = await engine.observation.logs(instance_id, { lines_max: LOG_LINES_MAX + 1 })
      return { answer: plainLog(log), stream: null }
    }
    case 'guest': {
      const { guest } = engine.observation
      const facts = lackOf(guest) === null ? await offered(guest).facts(instance_id) : null
      return { answer: facts, stream: null }
    }
    case 'follow_logs': {
      const log = await engine.observation.followLogs(instance_id, { lines_max: LOG_FOLLOWED_LINES_MAX })
      return { answer: null, stream: Duplex.from(log) }
    }
    case 'kept_log': {
      const log = await engine.observation.keptLog(instance_id)
      return { answer: null, stream: Duplex.from(log) }
    }
  }
}

/** Whether the machine may be reached in a moment, by another gateway. */
function isAway(error: unknown): boolean {
  if (error instanceof ComputeError) return error.code === 'engine_unavailable'
  return error instanceof ApiError && error.code === 'unavailable'
}

function streamOf({ stream }: Opened): Duplex {
  if (!stream) throw new Error('This way has no stream.')
  return stream
}
