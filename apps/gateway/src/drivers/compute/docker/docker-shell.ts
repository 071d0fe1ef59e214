import type { Socket } from 'node:net'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import type { PtyEvents, PtyProcess, Size } from '../sessions/session.ts'
import { killGroup } from './docker-exec.ts'

/**
 * Tells the shell's process id in front of all output, in a form that no terminal would show, and becomes the
 * best shell that the image has. Docker has no other way to end an exec than through its process. Engines before API 1.42
 * give a terminal its size only once its program runs, which would read another one, so it is set in here, too, where the
 * image has what sets it.
 */
const SHELL_SCRIPT =
  'stty rows "$1" cols "$2" 2>/dev/null; shift 2; printf "\\033]berth;%s\\007" $$; cd ~ 2>/dev/null; if [ -x /bin/bash ]; then exec /bin/bash "$@"; else exec /bin/sh "$@"; fi'
const PID_PREFIX = '\x1b]berth;'
const PID_END = '\x07'
const PID_BYTES_MAX = 64
const SHELL_START_TIMEOUT_MS = 15_000
/** A shell that was hung up may say goodbye for this long; one that ignores it is killed. */
const HANG_UP_MS = 5_000

/** Opens a shell on a pty in a container, with what it is to do; none to talk. Throws what dockerode throws. */
export async function openDockerShell(
  container: Docker.Container,
  options: Size & { env: Record<string, string> },
  events: PtyEvents,
  args: string[] = [],
): Promise<PtyProcess> {
  const env = { TERM: 'xterm-256color', PS1: '\\u@\\h:\\w\\$ ', ...options.env }
  const { cols, rows } = options
  const wanted: Docker.ExecCreateOptions & { ConsoleSize: [rows: number, cols: number] } = {
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: true,
    ConsoleSize: [rows, cols],
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    Cmd: ['/bin/sh', '-c', SHELL_SCRIPT, 'berth', String(rows), String(cols), ...args],
  }
  const exec = await container.exec(wanted)
  const socket = (await exec.start({ hijack: true, stdin: true, Tty: true })) as unknown as Socket
  socket.setNoDelay?.(true)
  const pid = await readPid(socket)
  socket.on('error', () => socket.destroy())
  // A command may have ended by now: it ran, and what it said is still to be read.
  const resize = (w: number, h: number) => exec.resize({ w, h }).catch(() => undefined)
  // Where neither of the two above has set it.
  await resize(cols, rows)

  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    socket.destroy()
    exitCode(exec).then(events.onEnd, () => events.onEnd(null))
  }
  // Closing without 'end' is the loss of the engine; the shell may live on, but nobody can reach it.
  socket.on('end', end)
  socket.on('close', end)
  socket.on('drain', events.onDrain)
  socket.on('data', events.onData)
  if (socket.closed) end()

  return {
    write: data => socket.destroyed || socket.write(data),
    resize: (cols, rows) => void resize(cols, rows),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    hangUp: () => {
      killGroup(container, pid, 'HUP').catch(() => socket.destroy())
      socket.resume()
      // Nobody counts it any more: whatever runs there must not go on sending.
      const timer = setTimeout(() => {
        if (ended) return
        killGroup(container, pid)
          .catch(() => undefined)
          .finally(() => socket.destroy())
      }, HANG_UP_MS)
      socket.once('close', () => clearTimeout(timer))
    },
  }
}

/** Reads the shell's process id off the front and leaves the rest on the socket, not flowing. */
function readPid(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0)
    const settle = () => {
      clearTimeout(timer)
      socket.off('readable', onReadable)
      socket.off('end', onFail)
      socket.off('close', onFail)
      socket.off('error', onFail)
    }
    const onFail = () => {
      settle()
      socket.destroy()
      reject(new ComputeError('failed', `no shell came up: ${head.toString().slice(0, 300)}`))
    }
    const onReadable = () => {
      const chunk = socket.read() as Buffer | null
      if (!chunk) return
      head = Buffer.concat([head, chunk])
      const end = head.indexOf(PID_END)
      const pid =
        head.indexOf(PID_PREFIX) === 0 ? Number(head.subarray(PID_PREFIX.length, end).toString()) : 0
      if (end < 0 && head.length < PID_BYTES_MAX) return
      if (end < 0 || !(pid > 0)) return onFail()
      settle()
      const rest = head.subarray(end + 1)
      if (rest.length > 0) socket.unshift(rest)
      resolve(pid)
    }
    const timer = setTimeout(onFail, SHELL_START_TIMEOUT_MS)
    socket.on('readable', onReadable)
    socket.on('end', onFail)
    socket.on('close', onFail)
    socket.on('error', onFail)
  })
}

/** The code that an exec ended with, null where nobody knows. The stream may end a moment before the engine has written down how the process ended. */
export async function exitCode(exec: Docker.Exec): Promise<number | null> {
  for (let tries = 0; tries < 20; tries++) {
    const { Running, ExitCode } = await exec.inspect()
    if (!Running && ExitCode !== null) return ExitCode
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  return null
}
