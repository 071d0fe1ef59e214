import { createMachineTurns, PROCESS_CLOCKS } from '../../streams/machine-turns.ts'
import { STREAM_LIMITS } from '../../streams/stream-limits.ts'
import { SSH_LIMITS, SSH_TURNS } from '../ssh-limits.ts'
import { createSshServer, type SshCount, type SshServer } from '../ssh-server.ts'
import { createGatewayLine } from './gateway-line.ts'
import type { SocketHandle } from './handed-socket.ts'
import type { FromProcess, Orders, ToProcess } from './words.ts'

/** After the last words of all connections. */
const STOP_MORE_MS = 1_000
const NOBODY: SshCount = { strangers: 0, customers: 0 }

let server: SshServer | null = null
let isStopping = false
/** Whether whoever is connected has been told to come again. */
let isTold = false
const say = (word: FromProcess) => void process.send?.(word, undefined, {}, () => undefined)
const line = createGatewayLine(say)

async function serve({ host, port, hostKeys, limits, streams }: Orders): Promise<void> {
  const turns = createMachineTurns({
    ...PROCESS_CLOCKS,
    limits: { ...STREAM_LIMITS, ...SSH_TURNS, ...streams },
  })
  server = createSshServer({
    hostKeys,
    gateway: line.gateway(turns),
    log: line.log,
    turns,
    onCount(count) {
      say({ says: 'count', count })
      endIfDone()
    },
    limits,
  })
  try {
    say({ says: 'listening', address: await server.listen(host, port) })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    say({ says: 'deaf', code, message })
  }
}

/** Ends by itself once the last connection has. */
function leave(): void {
  isStopping = true
  server?.leave()
  endIfDone()
}

function stop(): void {
  isStopping = true
  isTold = true
  server?.shutdown()
  endIfDone()
  // A word is read before its connection is closed, and that takes its time twice (`connection.ts`).
  setTimeout(() => process.exit(), 2 * SSH_LIMITS.closeMs + STOP_MORE_MS)
}

function endIfDone(): void {
  const { customers, strangers } = server?.count() ?? NOBODY
  if (isStopping && customers === 0 && (isTold || strangers === 0)) process.exit()
}

process.on('message', (told: ToProcess, handle: unknown) => {
  if (told.tells === 'orders') void serve(told.orders)
  else if (told.tells === 'changed') server?.lookAgain(told.changed)
  else if (told.tells === 'leave') leave()
  else if (told.tells === 'stop') stop()
  else line.hear(told, handle as SocketHandle | undefined)
})
// Whoever ends the gateway by a signal to all of its processes has it say farewell first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
// There is nobody to ask any more.
process.once('disconnect', () => process.exit())
