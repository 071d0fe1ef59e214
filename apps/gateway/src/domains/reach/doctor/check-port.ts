import { request } from 'node:http'
import type { Duplex } from 'node:stream'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import type { MachineWays } from '../machine-ways.ts'
import type { DoctorLimits } from './doctor-limits.ts'

/** What became of trying a port. `refused` is what the way into the machine says. */
export type PortOutcome =
  | { is: 'open' }
  | { is: 'answers'; status: number }
  | { is: 'foreign' }
  | { is: 'slow' }
  | { is: 'refused'; error: unknown }

type Ways = Pick<MachineWays, 'connect'>

/** Whether a program takes connections on a port. Nothing is said to it. */
export async function tryTcp(
  ways: Ways,
  instanceId: string,
  port: number,
  limits: DoctorLimits,
): Promise<PortOutcome> {
  const opened = await openWithin(ways, instanceId, port, limits.connectMs)
  if (!('stream' in opened)) return opened
  opened.stream.destroy()
  return { is: 'open' }
}

/** What a service answers to a request for its first page, of which no more than the head is read. */
export async function tryHttp(
  ways: Ways,
  instanceId: string,
  port: number,
  limits: DoctorLimits,
): Promise<PortOutcome> {
  const opened = await openWithin(ways, instanceId, port, limits.connectMs)
  if (!('stream' in opened)) return opened
  const { stream } = opened
  const asked = request({
    path: '/',
    headers: { host: `localhost:${port}`, 'user-agent': 'Berth', accept: '*/*', connection: 'close' },
    createConnection: () => stream as never,
  })
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise<PortOutcome>(resolve => {
      timer = setTimeout(resolve, limits.answerMs, { is: 'slow' })
      const answers = ({ statusCode }: { statusCode?: number | undefined }) =>
        resolve({ is: 'answers', status: statusCode ?? 0 })
      asked.once('response', answers)
      asked.once('upgrade', answers)
      // What is no HTTP, and a connection that is closed without a word.
      asked.on('error', () => resolve({ is: 'foreign' }))
      asked.end()
    })
  } finally {
    clearTimeout(timer)
    asked.destroy()
    stream.destroy()
  }
}

/** Opens a port, and lets go of one that opens too late. */
async function openWithin(
  ways: Ways,
  instanceId: string,
  port: number,
  waitMs: number,
): Promise<{ stream: Duplex } | PortOutcome> {
  let isLate = false
  let timer: NodeJS.Timeout | undefined
  const opened = ways.connect(instanceId, port, { isProbe: true }).then(
    (stream): { stream: Duplex } => {
      stream.on('error', () => stream.destroy())
      if (isLate) stream.destroy()
      return { stream }
    },
    (error: unknown): PortOutcome => ({ is: 'refused', error }),
  )
  const late = new Promise<PortOutcome>(resolve => {
    timer = setTimeout(() => {
      isLate = true
      resolve({ is: 'slow' })
    }, waitMs)
  })
  return Promise.race([opened, late]).finally(() => clearTimeout(timer))
}

/** The code of what a way into a machine was refused with; null for anything but its engine's own word. */
export function codeOf(error: unknown): ComputeError['code'] | null {
  return error instanceof ComputeError ? error.code : null
}
