import type { ClientChannel } from 'ssh2'
import type { ProgramLine, ProgramLineEnd } from './program-line.ts'
import type { Outlet } from './ssh-outlet.ts'
import type { GuestProgramEvents, StartedProgram } from './started-program.ts'

const SIGNAL_NAME = /^(?:SIG)?([A-Z][A-Z0-9]{0,15})$/

/**
 * A program that the machine's SSH server runs, as those are that an engine runs. To be called as soon as the channel is
 * there: a program's end may come with it.
 * @param outlet Where what is written to the program goes.
 * @param isGone Whether the connection to the server is over.
 */
export function guestProgram(channel: ClientChannel, outlet: Outlet, isGone: () => boolean): StartedProgram {
  let end: ProgramLineEnd | null = null
  let onExited: GuestProgramEvents['onExited']
  channel.on('error', () => channel.destroy())
  channel.on('exit', (code: unknown, signal: unknown) => {
    const name = typeof signal === 'string' ? (SIGNAL_NAME.exec(signal)?.[1] ?? null) : null
    end = { code: typeof code === 'number' ? code : null, signal: name, lost: false }
    onExited?.(end)
  })
  const drop = () => {
    channel.destroy()
    // What still comes is for nobody.
    channel.resume()
    channel.stderr.resume()
  }

  function open(events: GuestProgramEvents): ProgramLine {
    onExited = events.onExited
    if (end) onExited?.(end)
    let isOver = false
    let openOutputs = 2
    channel.on('data', (bytes: Buffer) => isOver || events.onOutput(bytes))
    channel.stderr.on('data', (bytes: Buffer) => isOver || events.onErrors(bytes))
    for (const output of [channel, channel.stderr]) {
      output.once('close', () => {
        if (--openOutputs > 0 || isOver) return
        isOver = true
        events.onEnd(end ?? { code: null, signal: null, lost: isGone() })
      })
    }
    return {
      write(bytes, done) {
        const whole = bytes instanceof Uint8Array ? bytes : Buffer.concat(bytes)
        if (isOver || !channel.writable || whole.length === 0) done()
        else channel.write(whole, () => outlet.whenRoom(done))
      },
      end: () => {
        if (!isOver) channel.end()
      },
      resize: (cols, rows) => channel.setWindow(rows, cols, 0, 0),
      signal: name => {
        if (SIGNAL_NAME.test(name)) channel.signal(name)
      },
      pause() {
        channel.pause()
        channel.stderr.pause()
      },
      resume() {
        channel.resume()
        channel.stderr.resume()
      },
      close() {
        isOver = true
        drop()
      },
    }
  }
  return { open, drop }
}
