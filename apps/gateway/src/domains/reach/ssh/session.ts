import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import type { ServerChannel, Session } from 'ssh2'
import type { RunOptions } from '../../../drivers/compute/port/console.ts'
import type { ProgramLine, ProgramLineEnd } from '../../../drivers/compute/port/program-line.ts'
import type { Outlet } from '../../../drivers/compute/port/ssh-outlet.ts'
import type { AskedProgram, StartedProgram } from '../../../drivers/compute/port/started-program.ts'
import type { CustomerRoom } from './customer-room.ts'
import { joinProgram } from './program-channel.ts'
import type { Programs } from './programs.ts'
import { serveSftp } from './sftp/sftp-server.ts'
import type { SshLimits } from './ssh-limits.ts'

/** A session of a connection: one program in the machine, with its terminal or without. */
export interface SshSession {
  /** Says why, and ends it. */
  end(sentence: string): void
}

export interface SessionDeps {
  outlet: Outlet
  /** Bounds what a channel holds. */
  bound(channel: ServerChannel): void
  limits: SshLimits
  /** For what is held of files. */
  held: CustomerRoom
  programs: Pick<Programs, 'start' | 'subsystem'>
  /** Runs a program that this server needs for files. */
  run(options: RunOptions): Promise<Duplex>
  /** Sentences that are said when the session opens. */
  notes(): string[]
  words: {
    /** Of a program that ended; null where its end says enough. */
    ended(end: ProgramLineEnd): Promise<string | null>
    noSubsystem(): string
    failed(error: unknown): string
  }
  onClose(): void
}

/** What a client may set: its language and what its terminal can. */
const VARIABLE = /^(LANG|LC_[A-Z]{1,20}|COLORTERM)$/
const TERM = /^[A-Za-z0-9._+-]{1,64}$/
const EXIT_REFUSED = 255

/** Serves a session that was just accepted. */
export function serveSession(session: Session, deps: SessionDeps): SshSession {
  const { limits, words } = deps
  const env: Record<string, string> = {}
  let pty: AskedProgram['pty'] = null
  let channel: ServerChannel | null = null
  let line: ProgramLine | null = null

  const take = (opened: ServerChannel): ServerChannel => {
    channel = opened
    deps.bound(opened)
    // Its errors are those of the connection.
    opened.on('error', () => opened.destroy())
    for (const note of deps.notes()) opened.stderr.write(`${note}\r\n`)
    return opened
  }
  const join = (opened: ServerChannel, program: StartedProgram) => {
    // Whoever left meanwhile would never close it.
    if (opened.writable)
      line = joinProgram({ channel: opened, program, outlet: deps.outlet, wordsOf: words.ended })
    else program.drop()
  }
  const start = (opened: ServerChannel, command: string | null) => {
    const asked = pty
    deps.programs.start({ what: { command }, env, pty: asked }).then(
      program => {
        join(opened, program)
        if (pty && pty !== asked) line?.resize(pty.cols, pty.rows)
      },
      error => refuse(opened, words.failed(error)),
    )
  }
  /** Files by SFTP are served here where the machine has no server of its own. */
  const serve = (opened: ServerChannel, name: string) => {
    if (name !== 'sftp') return refuse(opened, words.noSubsystem())
    serveSftp({
      channel: opened,
      run: deps.run,
      held: deps.held,
      room: () => new Promise(resolve => deps.outlet.whenRoom(resolve)),
      onFault: error => refuse(opened, words.failed(error)),
    })
  }

  session.on('pty', (accept, _, { cols, rows, term, modes }) => {
    pty = { cols, rows, modes }
    if (TERM.test(term)) env.TERM = term
    accept?.()
  })
  session.on('env', (accept, reject, { key, val }) => {
    const fits =
      VARIABLE.test(key) && key.length + val.length <= limits.variableCharsMax && !val.includes('\0')
    if (!fits || Object.keys(env).length >= limits.variablesMax) return reject?.()
    env[key] = val
    accept?.()
  })
  session.on('window-change', (accept, _, { cols, rows }) => {
    if (pty) pty = { ...pty, cols, rows }
    line?.resize(cols, rows)
    accept?.()
  })
  session.on('signal', (accept, _, { name }) => {
    if (`SIG${name}` in constants.signals) line?.signal(name)
    accept?.()
  })
  session.on('shell', accept => start(take(accept()), null))
  session.on('exec', (accept, _, { command }) => start(take(accept()), command))
  session.on('subsystem', (accept, _, { name }) => {
    const opened = take(accept())
    deps.programs.subsystem(name, env).then(
      program => (program ? join(opened, program) : serve(opened, name)),
      error => refuse(opened, words.failed(error)),
    )
  })
  session.once('close', deps.onClose)

  return {
    end: sentence => {
      line?.close()
      if (channel) refuse(channel, sentence)
    },
  }
}

function refuse(channel: ServerChannel, sentence: string): void {
  if (!channel.writable) return
  channel.stderr.write(`\r\n${sentence}\r\n`)
  channel.exit(EXIT_REFUSED)
  channel.end()
  // Whatever still comes is for nobody.
  channel.resume()
}
