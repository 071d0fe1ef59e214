import { Writable } from 'node:stream'
import type { ServerChannel } from 'ssh2'
import type { ProgramLine, ProgramLineEnd } from '../../../drivers/compute/port/program-line.ts'
import type { Outlet } from '../../../drivers/compute/port/ssh-outlet.ts'
import type { StartedProgram } from '../../../drivers/compute/port/started-program.ts'
import { carry } from '../../../platform/streams/carry.ts'

/** What shells say of a program whose end nobody knows. */
const EXIT_UNKNOWN = 255

/**
 * Joins a channel with a program's line until either ends. Whoever does not read, stops whoever writes.
 * @param wordsOf Gives what is said of an end that nobody asked for, such as that of the machine; null where nothing is.
 */
export function joinProgram(options: {
  channel: ServerChannel
  program: StartedProgram
  outlet: Outlet
  wordsOf(end: ProgramLineEnd): Promise<string | null>
}): ProgramLine {
  const { channel, program, outlet } = options
  let output: Buffer[] = []
  let errors: Buffer[] = []
  let underWay = 0
  let end: ProgramLineEnd | null = null

  const written = () => {
    underWay--
    if (underWay > 0) return
    if (output.length > 0 || errors.length > 0) flush()
    else if (end) void finish(end)
    else outlet.whenRoom(line.resume)
  }
  /** One write of each output is under way at a time: a flood of tiny pieces waits where it comes from. */
  function flush(): void {
    if (underWay > 0) return
    line.pause()
    const pieces = [
      { to: channel, bytes: Buffer.concat(output) },
      { to: channel.stderr, bytes: Buffer.concat(errors) },
    ].filter(({ bytes }) => bytes.length > 0)
    output = []
    errors = []
    underWay = pieces.length
    for (const { to, bytes } of pieces) to.write(bytes, written)
  }
  const gather = (pieces: () => Buffer[]) => (bytes: Buffer) => {
    const isFirst = output.length === 0 && errors.length === 0
    pieces().push(bytes)
    if (isFirst) process.nextTick(flush)
  }
  async function finish(how: ProgramLineEnd): Promise<void> {
    const words = await options.wordsOf(how)
    // Whoever ended it meanwhile has said why.
    if (!channel.writable) return
    if (words !== null) channel.stderr.write(`\r\n${words}\r\n`)
    const { code, signal } = how
    if (signal !== null) channel.exit(signal)
    else channel.exit(code ?? EXIT_UNKNOWN)
    channel.end()
  }

  const line = program.open({
    onOutput: gather(() => output),
    onErrors: gather(() => errors),
    onEnd: how => {
      end = how
      if (underWay === 0 && output.length === 0 && errors.length === 0) void finish(how)
    },
  })
  const input = new Writable({
    write: (bytes, _, done) => line.write(bytes, done),
    final: done => {
      line.end()
      done()
    },
  })
  carry(channel, input)
  channel.once('close', line.close)
  return line
}
