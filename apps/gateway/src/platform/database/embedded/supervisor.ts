import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Logger } from 'pino'

/** Pauses before each new start of a server that died; the last one is for all that follow. */
const RESTART_MS = [50, 250, 1_000, 2_000, 5_000]
/** A server that ran this long was well; its next death counts as the first. */
const HEALTHY_MS = 60_000
const PROBE_MS = 50
/** After a crash it first replays its journal, which takes as long as there was written. */
const START_MS = 300_000
const LINES_KEPT = 20
/** SQLSTATE: starting up, or not taking connections for another reason that passes. */
const NOT_YET = new Set(['57P03', '53300'])

interface SupervisorOptions {
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>
  start(): ChildProcess
  /** Resolves when the server answers. */
  probe(): Promise<void>
  beforeRestart(): Promise<void>
  stopProcess(pid: number): Promise<void>
}

export interface SupervisedServer {
  pid(): number | null
  stop(): Promise<void>
}

/**
 * Starts a server, waits until it answers, and starts it again whenever it dies, until it is told to stop.
 * @throws Error with the server's last words when the first start fails.
 */
export async function superviseServer(options: SupervisorOptions): Promise<SupervisedServer> {
  const { log } = options
  let child: ChildProcess | null = null
  let stopping = false
  let deaths = 0
  let restarting: Promise<void> | null = null

  async function launch(): Promise<void> {
    const started = options.start()
    const startedAt = performance.now()
    const lastLines = collectLines(started, log)
    let ended: string | null = null
    const end = new Promise<void>(resolve => {
      const settle = (how: string) => {
        ended ??= how
        resolve()
      }
      started.on('error', error => settle(error.message))
      started.on('exit', (code, signal) => settle(signal ? `signal ${signal}` : `exit code ${code}`))
    })
    child = started
    await untilReady(options.probe, startedAt, () => {
      if (ended !== null) throw new Error(`PostgreSQL did not start (${ended}):\n${lastLines.join('\n')}`)
    }).catch(async error => {
      if (started.pid && ended === null) await options.stopProcess(started.pid).catch(() => {})
      child = null
      throw error
    })
    end.then(() => {
      child = null
      if (stopping) return
      if (performance.now() - startedAt > HEALTHY_MS) deaths = 0
      log.error({ how: ended, last: lastLines.slice(-3) }, 'PostgreSQL died; starting it again')
      restarting = restart()
    })
  }

  async function restart(): Promise<void> {
    while (!stopping) {
      await pause(RESTART_MS[Math.min(deaths++, RESTART_MS.length - 1)] ?? 0)
      if (stopping) return
      try {
        await options.beforeRestart()
        await launch()
        log.info('PostgreSQL runs again')
        return
      } catch (error) {
        log.error({ err: error }, 'PostgreSQL did not start again')
      }
    }
  }

  // The gateway's last breath, for ends that skip an orderly stop: a fast shutdown of the server.
  const onExit = () => child?.kill('SIGINT')
  process.on('exit', onExit)
  await launch().catch(error => {
    process.off('exit', onExit)
    throw error
  })

  return {
    pid: () => child?.pid ?? null,
    async stop() {
      stopping = true
      await restarting
      if (child?.pid) await options.stopProcess(child.pid)
      process.off('exit', onExit)
    },
  }
}

async function untilReady(
  probe: () => Promise<void>,
  startedAt: number,
  throwIfEnded: () => void,
): Promise<void> {
  for (;;) {
    throwIfEnded()
    try {
      return await probe()
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      const passes = code === undefined || NOT_YET.has(code) || code.startsWith('E')
      throwIfEnded()
      if (!passes || performance.now() - startedAt > START_MS) throw error
      await pause(PROBE_MS)
    }
  }
}

/** Passes the server's words on to the log, and keeps the last ones for an error message. */
function collectLines(child: ChildProcess, log: SupervisorOptions['log']): string[] {
  const last: string[] = []
  if (!child.stderr) return last
  createInterface({ input: child.stderr }).on('line', line => {
    if (last.push(line) > LINES_KEPT) last.shift()
    // Refused connections come to whoever wanted them, as errors of theirs.
    const serious =
      /^(PANIC|WARNING|FATAL)/.test(line) &&
      !/^FATAL: {2}(the database system is|terminating conn)/.test(line)
    log[serious ? 'warn' : 'debug']({ postgres: line }, 'PostgreSQL')
  })
  return last
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
