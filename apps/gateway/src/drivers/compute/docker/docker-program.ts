import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import type { RunOptions } from '../port/console.ts'
import { EARLY_ERRORS_BYTES_MAX, runOnLine, SIGNALS } from '../sessions/program-line.ts'
import type { Program, ProgramEvents } from '../sessions/serve-program.ts'
import { createDemuxer, killGroup } from './docker-exec.ts'
import { exitCode, openDockerShell } from './docker-shell.ts'

/**
 * Tells its own id in the first line, since Docker reaches an exec only through its process, and becomes the best shell
 * that the image has, with what it is to do.
 */
const PIPES_SCRIPT =
  'echo $$; cd ~ 2>/dev/null; [ -x /bin/bash ] && SHELL=/bin/bash || SHELL=/bin/sh; export SHELL; exec $SHELL "$@"'
const PID_BYTES_MAX = 32

/**
 * Runs a program in a container, with streams of its own.
 * @returns Its line, as the port says.
 * @throws ComputeError, and what dockerode throws.
 */
export function runProgram(container: Docker.Container, options: RunOptions): Promise<Duplex> {
  return runOnLine(options, {
    openShell: (shell, events, args) => openDockerShell(container, shell, events, args),
    onPipes: ({ args, env }, events) => onPipes(container, args, env, events),
  })
}

async function onPipes(
  container: Docker.Container,
  args: string[],
  env: Record<string, string>,
  events: ProgramEvents,
): Promise<Program> {
  const exec = await container.exec({
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    Cmd: ['/bin/sh', '-c', PIPES_SCRIPT, 'berth', ...args],
  })
  const socket = (await exec.start({ hijack: true, stdin: true })) as unknown as Socket
  const program = joinExec(container, exec, socket, events)
  await program.started
  return program
}

/** Joins an exec's one stream with the two outputs of a program; its first line is the process's id. */
function joinExec(
  container: Docker.Container,
  exec: Docker.Exec,
  socket: Socket,
  events: ProgramEvents,
): Program & { started: Promise<void> } {
  const started = Promise.withResolvers<void>()
  let head: Buffer | null = Buffer.alloc(0)
  let early: Buffer = Buffer.alloc(0)
  let pid = 0
  let ended = false

  const demux = createDemuxer((isStderr, piece) => {
    if (head === null) return isStderr ? events.onStderr(piece) : events.onData(piece)
    if (isStderr) {
      early = Buffer.concat([early, piece])
      if (early.length > EARLY_ERRORS_BYTES_MAX) socket.destroy()
      return
    }
    head = Buffer.concat([head, piece])
    const lineEnd = head.indexOf(10)
    if (lineEnd < 0) {
      if (head.length > PID_BYTES_MAX) socket.destroy()
      return
    }
    pid = Number(head.subarray(0, lineEnd).toString())
    const rest = head.subarray(lineEnd + 1)
    head = null
    started.resolve()
    if (rest.length > 0) events.onData(rest)
    if (early.length > 0) events.onStderr(early)
  })
  const end = () => {
    if (ended) return
    ended = true
    socket.destroy()
    if (head !== null) {
      // An engine that could not start even the shell says why in place of the output.
      const said = early.length > 0 ? early : head
      started.reject(new ComputeError('failed', `no shell came up: ${said.toString('utf8', 0, 300)}`))
      return
    }
    exitCode(exec).then(
      code => events.onEnd({ code, signal: null }),
      () => events.onEnd({ code: null, signal: null }),
    )
  }
  socket.on('error', () => socket.destroy())
  socket.on('data', demux)
  socket.on('end', end)
  socket.on('close', end)
  socket.on('drain', events.onDrain)

  return {
    started: started.promise,
    write: data => socket.destroyed || socket.writableEnded || socket.write(data),
    end: () => void socket.end(),
    resize: () => undefined,
    signal: name => {
      if (pid > 0 && !ended && SIGNALS.has(name)) killGroup(container, pid, name).catch(() => undefined)
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    hangUp: () => void socket.destroy(),
  }
}
