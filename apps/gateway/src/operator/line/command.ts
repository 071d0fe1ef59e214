import type { Readable } from 'node:stream'
import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/config.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Operated } from '../operated.ts'
import type { Answer, Plan } from './answer.ts'

/** How a word of the command line is read. */
export interface ValueType<T> {
  /** What stands for it in a usage line, such as `<day>`. */
  hint: string
  /** The words that it can be, where those are few: completed by shells. */
  choices?: readonly string[]
  /** A shell completes files. */
  isFile?: boolean
  /** @param name What it is called for people, such as `--until`. @throws UsageError in words. */
  read(typed: string, name: string): T
}

/** An argument or an option: what it holds once it is read, what it is for, and what is said where it is missing. */
export interface Parameter<T> {
  help: string
  /** Null: a flag, which takes no value. */
  type: ValueType<unknown> | null
  /** A sentence for whoever left it out; null where it may be left out. */
  missing: string | null
  /** Reads what was typed; null where nothing was. */
  read(typed: string | boolean | null, name: string): T
}

export type Parameters = Record<string, Parameter<unknown>>
export type Given<P extends Parameters> = { [K in keyof P]: P[K] extends Parameter<infer T> ? T : never }

/** A thing that has to be named. @param missing What is said to whoever left it out. */
export function required<T>(type: ValueType<T>, help: string, missing: string): Parameter<T> {
  return { help, type, missing, read: (typed, name) => type.read(String(typed), name) }
}

/** A thing that may be left out: null then. */
export function optional<T>(type: ValueType<T>, help: string): Parameter<T | null> {
  const read = (typed: string | boolean | null, name: string) =>
    typed === null ? null : type.read(String(typed), name)
  return { help, type, missing: null, read }
}

/** A switch: false where it is left out. */
export function flag(help: string): Parameter<boolean> {
  return { help, type: null, missing: null, read: typed => typed === true }
}

/** What commands work with. Whatever costs time is opened when it is first asked for, and closed at the end. */
export interface OperatorContext {
  clock: Clock
  ids: Ids
  /** Columns of the terminal; null where nobody looks. */
  columns: number | null
  /** Says something beside the answer, on standard error. */
  note(line: string): void
  /** Passes a file on to standard output while it is made. @throws Error where nobody takes it. */
  pour(file: Readable): Promise<void>
  config(): Config
  /** The installation's domains, on its database. @throws Error with words where that cannot be reached. */
  installation(): Promise<Operated>
}

/** An example of the help: the words after `operator`, and what they do. */
export type Example = readonly [words: string, does: string]

interface Words<A extends Parameters, O extends Parameters> {
  noun: string
  verb: string
  /** Spellings of the verb from before, which go on working. */
  formerly?: readonly string[]
  /** What it does, in one line. */
  summary: string
  /** What else there is to know, in sentences. */
  details?: string
  arguments: A
  options: O
  examples: readonly [Example, ...Example[]]
}

/** A command that only looks. */
export interface LookingCommand<A extends Parameters, O extends Parameters> extends Words<A, O> {
  changes: false
  run(context: OperatorContext, given: Given<A> & Given<O>): Promise<Answer>
}

/** A command that changes something: it says first what it would do, so that `--dry-run` is the same code. */
export interface ChangingCommand<A extends Parameters, O extends Parameters> extends Words<A, O> {
  changes: true
  /** Whether it can destroy something, and then wants a name typed or `--yes`. */
  destroys: boolean
  /** `false`: it cannot write to the log of operators before it begins, and does so itself. Left out: true. */
  logged?: boolean
  /** Looks, changes nothing. @throws Refused where it cannot be done. */
  plan(context: OperatorContext, given: Given<A> & Given<O>): Promise<Plan>
}

type Any = Parameters
/** A command, whatever it takes. */
export type Command = LookingCommand<Any, Any> | ChangingCommand<Any, Any>

/** Defines a command that only looks. */
export function looking<A extends Parameters, O extends Parameters>(
  command: Omit<LookingCommand<A, O>, 'changes'>,
): Command {
  return { ...command, changes: false } as unknown as Command
}

/** Defines a command that changes something; `destroys` is left out where it destroys nothing. */
export function changing<A extends Parameters, O extends Parameters>(
  command: Omit<ChangingCommand<A, O>, 'changes' | 'destroys'> & { destroys?: boolean },
): Command {
  return { destroys: false, ...command, changes: true } as unknown as Command
}

/** Options that every command has. */
export const COMMON_OPTIONS = {
  json: flag('Answers as JSON, for programs: say npm run --silent then, since npm has two lines of its own'),
  help: flag('Says what the command does and takes, with examples'),
} satisfies Parameters

/** Options that commands have that change something. */
export const CHANGE_OPTIONS = {
  'dry-run': flag('Says what would be done, and changes nothing'),
} satisfies Parameters

const ANY_TEXT: ValueType<string> = { hint: '<name>', read: typed => typed }

/** Options that commands have that destroy something. */
export const CONFIRM_OPTIONS = {
  confirm: optional(ANY_TEXT, 'The name of what is destroyed, typed once more'),
  yes: flag('Does it without asking'),
} satisfies Parameters

/** All options of a command, its own first. */
export function optionsOf(command: Command): Parameters {
  return {
    ...command.options,
    ...(command.changes ? CHANGE_OPTIONS : {}),
    ...(command.changes && command.destroys ? CONFIRM_OPTIONS : {}),
    ...COMMON_OPTIONS,
  }
}
