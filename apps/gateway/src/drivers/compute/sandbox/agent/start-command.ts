import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { asKernelsFirstChoice } from './processes.ts'
import type { AgentMachine } from './requests.ts'

/** What shells say of a program that is not there, of one that cannot be run, and of one that a signal ended. */
const EXIT_NOT_FOUND = 127
const EXIT_NOT_RUN = 126
const EXIT_SIGNAL = 128

/** How long output may still come from children that outlive the command. */
const OUTPUT_AFTER_EXIT_MS = 50
const MS_PER_S = 1_000

export interface StartCommandDeps {
  machine: AgentMachine
  cwd: string
  env: Record<string, string>
  log: (chunk: Buffer | string) => void
  /** Told of each end, before anything follows from it. `againS` is when it is run again, in seconds. */
  onEnd: (end: { code: number; count: number; againS: number | null }) => void
  /** Ends the machine. */
  endMachine: (code: number) => void
}

/** Runs the machine's start command. What its end means is the machine's rule; mostly it goes on idling, as a computer would. */
export function createStartCommand({ machine, cwd, env, log, onEnd, endMachine }: StartCommandDeps) {
  const { on_command_end: rule, pauses } = machine
  let count = 0
  let pauseS = pauses.first_s
  let stopping = false

  function run(argv: string[]): void {
    const [file = 'false', ...args] = argv
    log(`berth: starting ${argv.join(' ')}\n`)
    const began = performance.now()
    const child = asKernelsFirstChoice(() =>
      spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }),
    )
    let ended = false
    const end = (code: number) => {
      if (ended) return
      ended = true
      if (!stopping) follow(argv, code, (performance.now() - began) / MS_PER_S)
    }
    child.stdout.on('data', log)
    child.stderr.on('data', log)
    child.on('error', error => {
      log(`berth: the start command did not start: ${error.message}\n`)
      end(/ENOENT/.test(error.message) ? EXIT_NOT_FOUND : EXIT_NOT_RUN)
    })
    const codeOf = (code: number | null, signal: NodeJS.Signals | null) =>
      code ?? EXIT_SIGNAL + (signal ? constants.signals[signal] : 0)
    child.on('close', (code, signal) => end(codeOf(code, signal)))
    // A child of it may hold its output open for ever.
    child.on('exit', (code, signal) => setTimeout(() => end(codeOf(code, signal)), OUTPUT_AFTER_EXIT_MS))
  }

  /** Does what the rule says of a command that ended. */
  function follow(argv: string[], code: number, ranS: number): void {
    count += 1
    if (ranS >= pauses.settled_s) pauseS = pauses.first_s
    const againS = rule === 'restart' ? pauseS : null
    const then = againS === null ? '' : `; it is run again in ${againS} s`
    log(`berth: the start command ended with code ${code}${then}\n`)
    onEnd({ code, count, againS })
    if (rule === 'stop') endMachine(code)
    if (againS === null) return
    pauseS = Math.min(pauseS * 2, pauses.most_s)
    setTimeout(() => {
      if (!stopping) run(argv)
    }, againS * MS_PER_S)
  }

  return {
    run,
    /** The machine is being stopped: from now on an end of the command is wanted. */
    leave() {
      stopping = true
    },
  }
}
