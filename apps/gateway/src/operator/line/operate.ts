import { ApiError } from '../../platform/http/api-error.ts'
import { type Answer, EXIT, type Exit, NotFound, type Plan, Refused, UsageError } from './answer.ts'
import type { Command, OperatorContext } from './command.ts'
import { helpOfAll, helpOfCommand, helpOfNoun } from './help.ts'
import { type Asked, parseCommand } from './parse-command.ts'
import { plainJson, plainLines } from './plain.ts'

/** Where the program's words go. */
export interface Terminal {
  /** Answers. */
  out(text: string): void
  /** Everything else. */
  err(text: string): void
  /** Asks whoever sits there; null where nobody does. */
  ask: ((question: string) => Promise<string>) | null
}

/** What the log of operators is told. */
export interface OperatorLog {
  /** Before anything is done. @returns Writes how it ended. */
  begin(entry: {
    command: string
    target: string
    userId: string | null
  }): Promise<(ended: Ended) => Promise<void>>
}
export type Ended = { outcome: 'done' | 'failed'; detail: string }

type Wanted = Extract<Asked, { kind: 'command' }>

/**
 * Does what an operator typed.
 * @param world.log Opens the log of operators, when the first change begins.
 * @returns How the program is to end.
 */
export async function operate(
  commands: readonly Command[],
  args: readonly string[],
  world: { context: OperatorContext; terminal: Terminal; log(): Promise<OperatorLog> },
): Promise<Exit> {
  const terminal = plainly(world.terminal)
  const { context } = world
  try {
    const asked = parseCommand(commands, args)
    if (asked.kind === 'help') {
      terminal.out(helpFor(commands, asked))
      return EXIT.done
    }
    const answer = asked.command.changes
      ? await change(asked, asked.command, { ...world, terminal })
      : await asked.command.run(context, asked.given as never)
    if (answer === null) return EXIT.unconfirmed
    terminal.out(asked.json ? `${plainJson(answer.data)}\n` : answer.text)
    return answer.exit ?? EXIT.done
  } catch (error) {
    terminal.err(`${wordsOf(error)}\n`)
    return exitOf(error)
  }
}

/** A terminal that obeys nothing of what customers wrote, wherever in the words that stands. */
function plainly({ out, err, ask }: Terminal): Terminal {
  return {
    out: text => out(plainLines(text)),
    err: text => err(plainLines(text)),
    ask: ask && (question => ask(plainLines(question))),
  }
}

function helpFor(commands: readonly Command[], { noun, command }: Extract<Asked, { kind: 'help' }>): string {
  if (command !== null) return helpOfCommand(command)
  return noun === null ? helpOfAll(commands) : helpOfNoun(commands, noun)
}

/** @returns Null where it was not confirmed. */
async function change(
  asked: Wanted,
  command: Extract<Command, { changes: true }>,
  { context, terminal, log }: Parameters<typeof operate>[2],
): Promise<Answer | null> {
  const plan = await command.plan(context, asked.given as never)
  if (asked.dryRun) {
    const text = plan.says.map(line => `Would be done: ${line}\n`).join('')
    return { data: { dry_run: true, would: plan.says, ...objectOf(plan.data) }, text }
  }
  if (plan.poursInstead !== undefined && asked.json) throw new UsageError(plan.poursInstead)
  if (plan.confirm !== undefined && !(await isConfirmed(asked, plan, plan.confirm, terminal))) return null
  const name = `${command.noun} ${command.verb}`
  if (command.logged === false) return await plan.act()
  const end = await (await log()).begin({ command: name, target: plan.target, userId: plan.userId ?? null })
  try {
    const answer = await plan.act()
    await end({ outcome: 'done', detail: plan.detail ?? plan.says.join(' ') })
    return answer
  } catch (error) {
    await end({ outcome: 'failed', detail: wordsOf(error) })
    throw error
  }
}

async function isConfirmed(
  { yes, confirm }: Wanted,
  plan: Plan,
  name: string,
  terminal: Terminal,
): Promise<boolean> {
  if (yes) return true
  const isIt = (typed: string) => typed.trim().toLowerCase() === name.toLowerCase()
  if (confirm !== null) {
    if (isIt(confirm)) return true
    terminal.err(`That is not ${name}: nothing was done.\n`)
    return false
  }
  terminal.err(plan.says.map(line => `${line}\n`).join(''))
  if (terminal.ask === null) {
    terminal.err(`Nothing was done: say --confirm ${name}, or --yes.\n`)
    return false
  }
  if (isIt(await terminal.ask(`Type ${name} to do it: `))) return true
  terminal.err('Nothing was done.\n')
  return false
}

const objectOf = (data: unknown) =>
  typeof data === 'object' && data !== null && !Array.isArray(data) ? data : {}

function exitOf(error: unknown): Exit {
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof NotFound) return EXIT.notFound
  return error instanceof Refused || error instanceof ApiError ? EXIT.refused : EXIT.failed
}

/** What is said of an error: its own words, with those of its cause. */
export function wordsOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error instanceof Error ? error.message : String(error)}${cause}`
}
