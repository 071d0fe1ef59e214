import type Docker from 'dockerode'
import { EngineReplaced } from '../port/compute-error.ts'
import type { EngineInfo } from './docker-capabilities.ts'
import { statusCodeOf } from './docker-errors.ts'

/** A call of the client under dockerode, through which all its calls pass. */
type Dial = (options: { path: string }, callback: (error: unknown, result: unknown) => void) => void

/** The one question that is let through while it is not known who answers. */
const INFO_PATH = '/info'

/** Sees to it that the engine at an address is still the one that was opened there. */
export interface EngineIdentity {
  /** The connection broke: whoever answers next is asked who it is. */
  doubt(): void
  /**
   * Takes what the engine tells of itself.
   * @throws EngineReplaced When that is another one.
   */
  confirm(info: EngineInfo): void
}

/**
 * Watches over all calls of a client from here on. After one that got no answer the next ones wait until the engine has
 * said who it is: a daemon that was made anew at the same address knows none of the machines, which then are away and
 * not gone. Once another one answered, no call reaches it any more.
 * @param engineId The engine's id, as the port knows it.
 * @param ask Asks the engine about itself.
 */
export function watchIdentity(options: {
  docker: Docker
  engineId: string
  idOf(info: EngineInfo): string
  ask(): Promise<EngineInfo>
}): EngineIdentity {
  const { docker, engineId, idOf, ask } = options
  const dial: Dial = docker.modem.dial.bind(docker.modem)
  let isDoubted = false
  let replaced: EngineReplaced | null = null
  let asking: Promise<void> | null = null

  function confirm(info: EngineInfo): void {
    const foundId = idOf(info)
    if (foundId !== engineId) replaced ??= new EngineReplaced(engineId, foundId)
    if (replaced) throw replaced
  }

  /** One question for all calls that wait. */
  function askAgain(): Promise<void> {
    asking ??= (async () => {
      isDoubted = false
      try {
        confirm(await ask())
      } catch (error) {
        isDoubted = true
        throw error
      } finally {
        asking = null
      }
    })()
    return asking
  }

  const watched: Dial = (request, callback) => {
    const pass = () =>
      dial(request, (error, result) => {
        if (error && statusCodeOf(error) === undefined) isDoubted = true
        callback(error, result)
      })
    if (replaced) return callback(replaced, null)
    if (request.path === INFO_PATH || !(isDoubted || asking)) return pass()
    askAgain()
      .then(pass)
      .catch(error => callback(error, null))
  }
  docker.modem.dial = watched

  return {
    doubt: () => {
      isDoubted = true
    },
    confirm,
  }
}
