import type { Duplex } from 'node:stream'
import type { Language } from '@berth/contract/limits'
import type { Connection } from 'ssh2'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { GuestFault } from '../../../drivers/compute/port/guest-access.ts'
import type { ProgramLineEnd } from '../../../drivers/compute/port/program-line.ts'
import { createOutlet } from '../../../drivers/compute/port/ssh-outlet.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { AskPace } from './ask-pace.ts'
import { boundInputs } from './channel-input.ts'
import type { CustomerRoom } from './customer-room.ts'
import { serveForwards } from './forwards.ts'
import type { GatewaySide, SshLog } from './gateway-side.ts'
import { PROHIBITED, rejectWith } from './library-gaps.ts'
import { createPrograms } from './programs.ts'
import { type SshSession, serveSession } from './session.ts'
import type { SshCustomer } from './sign-in.ts'
import type { SshLimits } from './ssh-limits.ts'
import { type SshWord, sshSentence } from './ssh-words.ts'

/** A connection of somebody who has signed in. */
export interface SshConnection extends SshCustomer {
  /** Ends it where its instance does not run any more. */
  checkInstance(): Promise<void>
  /** Says why on every terminal, and ends it. */
  end(word: SshWord): void
}

export interface ConnectionDeps {
  gateway: Pick<GatewaySide, 'connect' | 'guestAccess' | 'hold' | 'isRunning' | 'languageOf' | 'run'>
  limits: SshLimits
  log: SshLog
  /** A customer's room for what is held for them. */
  roomOf(userId: string): CustomerRoom
  /** Waited for before the gateway is asked for anything of a machine. */
  pace: AskPace
}

/** Serves what a customer opens over a connection, all of it in the one instance whose name was given. */
export function serveConnection(
  deps: ConnectionDeps,
  client: Connection,
  socket: Duplex,
  customer: SshCustomer,
): SshConnection {
  const { gateway, limits, log } = deps
  const target = { userId: customer.userId, instanceId: customer.name }
  const sessions = new Set<SshSession>()
  const outlet = createOutlet(client, socket, limits)
  const held = deps.roomOf(customer.userId)
  const bound = boundInputs(client, socket, held)
  const notes = new Set<SshWord>()
  let language: Language = 'en'
  /** Sentences wait for it; what goes well does not. */
  const knowsLanguage = gateway.languageOf(customer.userId).then(
    known => {
      language = known
    },
    error => log.warn({ err: error }, 'the language of a customer is not known'),
  )
  const say = (word: SshWord) => sshSentence(language, word, customer.name)
  let ending: SshWord | null = null

  /** The word for what went wrong on the way into the machine. @param ifClosed Where nothing listens on the port that was opened. */
  function wordOf(error: unknown, ifClosed: SshWord): SshWord {
    if (error instanceof CommandTooLong) return 'command_too_long'
    if (error instanceof GuestFault) return error.code === 'guest_full' ? 'busy' : error.code
    if (error instanceof ApiError) {
      if (error.code === 'not_found') return 'not_yours'
      if (error.code === 'instance_not_running') return 'not_running'
    }
    if (error instanceof ComputeError) {
      if (error.code === 'not_found' || error.code === 'not_running') return 'not_running'
      if (error.code === 'no_shell' || error.code === 'outdated') return error.code
      if (error.code === 'exhausted') return 'busy'
      if (error.code === 'port_closed') return ifClosed
    }
    log.warn({ err: error, instance: customer.name }, 'an instance could not be reached by SSH')
    return 'unreachable'
  }

  /** @throws Where nobody waits for the answer any more. */
  async function turnToAsk(): Promise<void> {
    await deps.pace(customer.userId)
    if (ending || socket.destroyed) throw new Error('the connection is ending')
  }

  /** Before each program. @throws As `turnToAsk`; CommandTooLong. */
  async function turnToRun(command: string | null): Promise<void> {
    await knowsLanguage
    if (ending) throw new Error('the connection is ending')
    if (lengthOf(command) > limits.commandBytesMax) throw new CommandTooLong()
    await turnToAsk()
  }
  /** A machine that stops ends its programs before this connection hears of it: who sees that alone does not know why. */
  async function wordsOfEnd({ lost, signal }: ProgramLineEnd): Promise<string | null> {
    if (!lost && signal === null) return null
    const runs = ending !== null || (await gateway.isRunning(target).catch(() => true))
    if (!runs) return say('stopped')
    return lost ? say(ending ?? 'unreachable') : null
  }
  const programs = createPrograms({ gateway, target, limits, turn: turnToRun })
  socket.once('close', programs.close)

  function end(word: SshWord): void {
    if (ending) return
    ending = word
    forwards.closeAll()
    void knowsLanguage.then(() => {
      for (const session of sessions) session.end(say(word))
    })
    // A client that hears of the end before it has shown the words does not show them. Without a session it would show
    // none: one may be about to be opened.
    setTimeout(() => {
      client.end()
      setTimeout(() => socket.destroy(), limits.closeMs).unref()
    }, limits.closeMs).unref()
  }

  client.on('session', (accept, reject) => {
    if (sessions.size >= limits.sessionsPerConnectionMax) {
      return rejectWith(client, reject, PROHIBITED, say('too_many_sessions'))
    }
    const session = serveSession(accept(), {
      outlet,
      bound,
      limits,
      held,
      notes: () => [...notes].map(say),
      programs,
      run: async options => {
        await turnToRun(options.command)
        return gateway.run(target, options)
      },
      words: {
        ended: wordsOfEnd,
        noSubsystem: () => say('no_subsystem'),
        failed: error => say(ending ?? wordOf(error, 'guest_closed')),
      },
      onClose: () => sessions.delete(session),
    })
    sessions.add(session)
  })
  const forwards = serveForwards(client, {
    outlet,
    bound,
    countMax: limits.forwardsPerConnectionMax,
    connect: async port => {
      await knowsLanguage
      if (ending) throw new Error('the connection is ending')
      await turnToAsk()
      return programs.connect(port)
    },
    words: {
      otherHost: () => say('other_host'),
      tooMany: () => say('busy'),
      noSuchPort: () => say('port_closed'),
      failed: error => say(ending ?? wordOf(error, 'port_closed')),
    },
  })
  client.on('request', (_, reject, name) => {
    if (name === 'tcpip-forward') notes.add('remote_forwards')
    reject?.()
  })
  // The library says farewell, which a client that is gone does not take.
  client.once('error', () => setTimeout(() => socket.destroy(), limits.closeMs).unref())
  // Also while nothing is open over it: a tunnel waits for its first user.
  gateway.isRunning(target).then(
    isTheirs => {
      if (!isTheirs || socket.destroyed) return
      socket.once('close', gateway.hold(target.instanceId))
    },
    error => log.warn({ err: error }, 'an SSH connection counts as no use of its instance'),
  )

  return {
    ...customer,
    async checkInstance() {
      if (!(await gateway.isRunning(target))) end('stopped')
    },
    end,
  }
}

/** A command that does not fit into what one gateway asks of another. */
class CommandTooLong extends Error {}

/** In bytes, as it goes to another gateway. */
function lengthOf(command: string | null): number {
  return command === null ? 0 : Buffer.byteLength(JSON.stringify(command))
}
