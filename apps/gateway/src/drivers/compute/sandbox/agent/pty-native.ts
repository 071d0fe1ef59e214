import { createRequire } from 'node:module'
import { ReadStream } from 'node:tty'
import type { PtyEvents, PtyProcess } from '../../sessions/session.ts'

/** The part of the prebuilt pty binary that is used here. */
interface NativePty {
  fork(
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helperPath: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string }
  resize(fd: number, cols: number, rows: number): void
}

export interface NativePtyOptions {
  file: string
  args: string[]
  env: Record<string, string>
  cwd: string
  cols: number
  rows: number
}

/** How long output may still come after the shell ended while a child of it holds the terminal open. */
const OUTPUT_AFTER_EXIT_MS = 100

/**
 * Opens a shell on a new pty. The native binary is used without its JavaScript wrapper because the wrapper
 * drops output that is still unread 200 ms after the shell's end, which a paused reader would lose; here the
 * pause is lifted at the end, and what is left (the kernel holds a few kB at most) is passed on.
 */
export function openNativePty(binaryPath: string, options: NativePtyOptions, events: PtyEvents): PtyProcess {
  const native = createRequire(import.meta.url)(binaryPath) as NativePty
  let exitCode: number | null = null
  let open = true
  let ended = false

  const finish = () => {
    if (ended || open || exitCode === null) return
    ended = true
    events.onEnd(exitCode)
  }
  const env = Object.entries(options.env).map(([key, value]) => `${key}=${value}`)
  const term = native.fork(
    options.file,
    options.args,
    env,
    options.cwd,
    options.cols,
    options.rows,
    -1,
    -1,
    false,
    '',
    (code, signal) => {
      exitCode = signal > 0 ? 128 + signal : code
      stream.resume()
      setTimeout(() => stream.destroy(), OUTPUT_AFTER_EXIT_MS)
      finish()
    },
  )
  const stream = new ReadStream(term.fd)
  stream.on('data', events.onData)
  stream.on('drain', events.onDrain)
  // EIO is how Linux says that the last process closed its side; 'close' follows it.
  stream.on('error', () => stream.destroy())
  stream.on('close', () => {
    open = false
    finish()
  })

  return {
    write: data => stream.destroyed || stream.write(data),
    resize: (cols, rows) => {
      if (!stream.destroyed) native.resize(term.fd, cols, rows)
    },
    pause: () => {
      if (exitCode === null) stream.pause()
    },
    resume: () => stream.resume(),
    hangUp: () => {
      if (exitCode !== null) return
      // Closing our side makes the kernel send SIGHUP to the whole session; the shell gets it in any case.
      stream.destroy()
      killQuietly(term.pid, 'SIGHUP')
    },
  }
}

function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended by itself in the meantime.
  }
}
