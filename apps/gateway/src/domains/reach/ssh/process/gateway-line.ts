import type { MachineTurns } from '../../streams/machine-turns.ts'
import type { GatewaySide, SshLog } from '../gateway-side.ts'
import { type SocketHandle, takeOver } from './handed-socket.ts'
import { type Answers, errorOf, type FromProcess, type Lease, type ToProcess, type What } from './words.ts'

/** The gateway, as the SSH server's process sees it. */
export interface GatewayLine {
  /** @param turns When what machines send is read. */
  gateway(turns: Pick<MachineTurns, 'pace'>): GatewaySide
  /** The gateway's log. */
  log: SshLog
  /** Takes what the gateway has answered, with the socket that came with it. */
  hear(told: Extract<ToProcess, { tells: 'answer' | 'fault' }>, handle: SocketHandle | undefined): void
}

/** What a question is answered with. */
interface Answered {
  value: unknown
  handle: SocketHandle | undefined
}

/** Makes the line. @param say Tells the gateway something. */
export function createGatewayLine(say: (word: FromProcess) => void): GatewayLine {
  const waiting = new Map<number, PromiseWithResolvers<Answered>>()
  let last = 0

  function question<Each extends What>(what: Each, asked: Parameters<Answers[Each]>): Promise<Answered> {
    const id = ++last
    const answered = Promise.withResolvers<Answered>()
    waiting.set(id, answered)
    say({ says: 'ask', id, what, asked } as FromProcess)
    return answered.promise
  }
  const ask =
    <Each extends What>(what: Each) =>
    async (...asked: Parameters<Answers[Each]>): Promise<Awaited<ReturnType<Answers[Each]>>> =>
      (await question(what, asked)).value as Awaited<ReturnType<Answers[Each]>>
  /** Until then it counts there as open. */
  const giveBack = (lease: number) => say({ says: 'give_back', lease })

  return {
    gateway(turns) {
      function streamOf(instanceId: string, { value, handle }: Answered) {
        const { lease, rest } = value as Lease
        if (!handle) throw new Error('a stream came without its socket')
        const socket = takeOver(handle, rest)
        socket.once('close', () => giveBack(lease))
        return turns.pace(instanceId, socket)
      }
      return {
        holder: ask('holder'),
        fate: ask('fate'),
        isSignedBySecurityKey: ask('isSignedBySecurityKey'),
        accessOf: ask('accessOf'),
        languageOf: ask('languageOf'),
        countRefusal: ask('countRefusal'),
        note: ask('note'),
        isRunning: ask('isRunning'),
        guestAccess: ask('guestAccess'),
        hold(instanceId) {
          const held = ask('hold')(instanceId)
          held.catch(() => undefined)
          return () =>
            void held.then(
              ({ lease }) => giveBack(lease),
              () => undefined,
            )
        },
        run: async (target, options) => streamOf(target.instanceId, await question('run', [target, options])),
        connect: async (target, port) =>
          streamOf(target.instanceId, await question('connect', [target, port])),
      }
    },
    log: { debug: logAs(say, 'debug'), warn: logAs(say, 'warn') },
    hear(told, handle) {
      const asked = waiting.get(told.id)
      waiting.delete(told.id)
      if (told.tells === 'fault') asked?.reject(errorOf(told.fault))
      else asked?.resolve({ value: told.value, handle })
    },
  }
}

function logAs(say: (word: FromProcess) => void, level: 'debug' | 'warn'): SshLog['warn'] {
  return ({ err, ...about }, text) => {
    const why = err instanceof Error ? (err.stack ?? err.message) : String(err)
    say({ says: 'log', level, about: { ...about, why }, text })
  }
}
