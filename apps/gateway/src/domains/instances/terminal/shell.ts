import type { TerminalEnd } from '@berth/contract/terminal'
import type { Logger } from 'pino'
import { ComputeError, type Pty, type PtyOptions } from '../../../drivers/compute/port.ts'
import { createInputGate } from './input-gate.ts'
import { createOutputPump } from './output-pump.ts'
import type { TerminalLimits } from './terminal-limits.ts'
import type { TerminalSocket } from './terminal-socket.ts'

/** A shell in a machine, and the sockets that look at it. It only ever goes from opening to open to ended. */
export interface Shell {
  readonly userId: string
  readonly instanceId: string
  readonly sockets: ReadonlySet<TerminalSocket>
  /** Memory that this process holds for it, in bytes. */
  readonly bytesHeld: number
  /** Adds a socket that has just said its size. It is shown what there is, then what comes. */
  attach(socket: TerminalSocket, size: Size): void
  /** Ends the shell and its sockets. The first reason stands. */
  end(reason: TerminalEnd): void
}

export interface Size {
  cols: number
  rows: number
}

export interface ShellDeps {
  userId: string
  instanceId: string
  openPty(options: PtyOptions): Promise<Pty>
  /** Whether the instance still runs: tells a shell that was left from one whose machine was stopped. */
  stillRuns(): Promise<boolean>
  limits: TerminalLimits
  log: Pick<Logger, 'info' | 'warn'>
  /** Called once, as soon as nobody may be attached any more. */
  onEnd(): void
}

/**
 * Makes a shell. It is opened in the machine for its first socket, and then lives until it exits, is ended, or
 * has had no socket for too long.
 */
export function createShell(deps: ShellDeps): Shell {
  const { instanceId, limits, log } = deps
  const sockets = new Set<TerminalSocket>()
  let state: 'opening' | 'open' | 'ended' = 'opening'
  let pty: Pty | null = null
  let size: Size | null = null
  let idle: NodeJS.Timeout | null = null
  let nudge: NodeJS.Timeout | null = null
  const output = createOutputPump(limits, { pause: () => pty?.pause(), resume: () => pty?.resume() })
  const input = createInputGate(limits.inputWaitingBytesMax, held => {
    for (const socket of sockets) socket.holdInput(held)
  })

  async function open(first: Size): Promise<void> {
    let opened: Pty
    try {
      opened = await deps.openPty(first)
    } catch (error) {
      log.warn({ err: error, instance: instanceId }, 'a shell could not be opened')
      const gone = error instanceof ComputeError && ['not_running', 'not_found'].includes(error.code)
      return end(gone ? 'instance_stopped' : 'failed')
    }
    if (state === 'ended') return opened.kill()
    state = 'open'
    pty = opened
    pty.onExit(exit => void exited(exit.code))
    for (const socket of sockets) output.show(socket)
    pty.onData(chunk => {
      if (state === 'open') output.take(chunk)
    })
    if (size && (size.cols !== first.cols || size.rows !== first.rows)) pty.resize(size.cols, size.rows)
    input.open(opened)
  }

  function attach(socket: TerminalSocket, its: Size): void {
    if (state === 'ended' || sockets.size >= limits.socketsPerShellMax) {
      socket.end(state === 'ended' ? 'shell_exited' : 'too_many_sockets')
      return
    }
    if (idle) clearTimeout(idle)
    sockets.add(socket)
    socket.listen({
      onResize: (cols, rows) => resize({ cols, rows }),
      onInput: bytes => input.take(bytes),
      onProgress: () => output.progress(socket),
      onClose: () => detach(socket),
    })
    socket.holdInput(input.isFull)
    if (!size) void open(its)
    resize(its)
    if (state === 'open' && output.show(socket) && output.alternateScreen) redraw()
  }

  function detach(socket: TerminalSocket): void {
    sockets.delete(socket)
    output.remove(socket)
    if (state === 'ended' || sockets.size > 0) return
    idle = setTimeout(() => end('idle'), limits.idleMs).unref()
  }

  function resize(next: Size): void {
    if (size?.cols === next.cols && size.rows === next.rows) return
    size = next
    if (!nudge) pty?.resize(next.cols, next.rows)
  }

  /** Programs redraw when their size changes, and only then: so it is changed, and changed back a little later. */
  function redraw(): void {
    if (!pty || !size || nudge) return
    pty.resize(size.cols, size.rows > 1 ? size.rows - 1 : size.rows + 1)
    nudge = setTimeout(() => {
      nudge = null
      if (size && state === 'open') pty?.resize(size.cols, size.rows)
    }, limits.nudgeMs)
  }

  async function exited(code: number | null): Promise<void> {
    if (state === 'ended') return
    leave()
    const runs = await deps.stillRuns().catch(() => true)
    for (const socket of sockets) socket.end(runs ? 'shell_exited' : 'instance_stopped', runs ? code : null)
    log.info({ instance: instanceId, code, runs }, 'a web terminal ended')
  }

  function end(reason: TerminalEnd): void {
    if (state === 'ended') return
    leave()
    pty?.kill()
    for (const socket of sockets) socket.end(reason)
    log.info({ instance: instanceId, reason }, 'a web terminal was ended')
  }

  function leave(): void {
    state = 'ended'
    output.stop()
    if (idle) clearTimeout(idle)
    if (nudge) clearTimeout(nudge)
    deps.onEnd()
  }

  return {
    userId: deps.userId,
    instanceId,
    sockets,
    get bytesHeld() {
      let bytes = output.bytesHeld + input.bytesHeld
      for (const socket of sockets) bytes += socket.bytesHeld
      return bytes
    },
    attach,
    end,
  }
}
