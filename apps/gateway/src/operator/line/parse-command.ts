import { type ParseArgsConfig, parseArgs } from 'node:util'
import { UsageError } from './answer.ts'
import {
  CHANGE_OPTIONS,
  COMMON_OPTIONS,
  CONFIRM_OPTIONS,
  type Command,
  optionsOf,
  type Parameters,
} from './command.ts'
import { listed } from './values.ts'

/** What an operator asked for. */
export type Asked =
  | { kind: 'help'; noun: string | null; command: Command | null }
  | {
      kind: 'command'
      command: Command
      given: Record<string, unknown>
      json: boolean
      dryRun: boolean
      yes: boolean
      confirm: string | null
    }

const HOW = 'operator --help lists all there is.'

/**
 * Reads what an operator typed.
 * @throws UsageError with words for the operator.
 */
export function parseCommand(commands: readonly Command[], args: readonly string[]): Asked {
  const { values, positionals } = split(commands, args)
  const [noun, verb, ...rest] = positionals
  if (noun === undefined) return { kind: 'help', noun: null, command: null }
  // As `git help add`.
  if (noun === 'help') return helpOn(commands, verb ?? null, rest[0] ?? null)
  if (values.help === true) return helpOn(commands, noun, verb ?? null)
  const verbs = verbsOf(commands, noun)
  if (verb === undefined) return { kind: 'help', noun, command: null }
  const command = commandOf(verbs, noun, verb)
  refuseOdd(commands, command, values)
  const given = { ...readArguments(command, rest), ...readOptions(command, values) }
  return {
    kind: 'command',
    command,
    given,
    json: values.json === true,
    dryRun: values['dry-run'] === true,
    yes: values.yes === true,
    confirm: typeof values.confirm === 'string' ? values.confirm : null,
  }
}

function helpOn(commands: readonly Command[], noun: string | null, verb: string | null): Asked {
  if (noun === null) return { kind: 'help', noun, command: null }
  const verbs = verbsOf(commands, noun)
  return { kind: 'help', noun, command: verb === null ? null : commandOf(verbs, noun, verb) }
}

/** All words that are no option, wherever they stand. An option is what any command has: it may come before the noun. */
function split(commands: readonly Command[], args: readonly string[]) {
  const options: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean', short: 'h' } }
  const all: Parameters = Object.assign({}, ...commands.map(({ options }) => options), {
    ...CHANGE_OPTIONS,
    ...CONFIRM_OPTIONS,
    ...COMMON_OPTIONS,
  })
  for (const [name, { type }] of Object.entries(all)) {
    options[name] ??= { type: type === null ? 'boolean' : 'string' }
  }
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      tokens: true,
    })
    const named = tokens.flatMap(token => (token.kind === 'option' ? [token.name] : []))
    const twice = named.find((name, index) => named.indexOf(name) !== index)
    if (twice !== undefined) throw new UsageError(`--${twice} is there twice.`)
    return { values: values as Record<string, string | boolean | undefined>, positionals }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const words = error instanceof Error ? error.message : String(error)
    const [, dashed] = /^Option '(?:-\w, )?(--[\w-]+)[^']*' argument is ambiguous/.exec(words) ?? []
    if (dashed !== undefined)
      throw new UsageError(
        `Say after ${dashed} what it is; what begins with a dash is typed as ${dashed}=-5. ${HOW}`,
      )
    throw new UsageError(`${words.split('. To specify')[0]?.replace(/\.?$/, '.')} ${HOW}`)
  }
}

function verbsOf(commands: readonly Command[], noun: string): Command[] {
  const verbs = commands.filter(command => command.noun === noun)
  if (verbs.length > 0) return verbs
  const nouns = [...new Set(commands.map(command => command.noun))]
  throw new UsageError(`There is no ${noun} here${meant(noun, nouns)} ${HOW}`)
}

function commandOf(verbs: Command[], noun: string, verb: string): Command {
  const found = verbs.find(command => command.verb === verb || command.formerly?.includes(verb))
  if (found) return found
  const known = verbs.map(command => command.verb)
  throw new UsageError(
    `${noun} cannot ${verb}${meant(verb, known)} There ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}.`,
  )
}

/** Commands that an odd option's refusal names. */
const HAVING_SHOWN_MAX = 8

/** An option that the command does not have says which ones do. */
function refuseOdd(commands: readonly Command[], command: Command, values: Record<string, unknown>): void {
  const own = optionsOf(command)
  const odd = Object.keys(values).find(name => values[name] !== undefined && !(name in own))
  if (odd === undefined) return
  const having = commands.filter(one => odd in optionsOf(one)).map(({ noun, verb }) => `${noun} ${verb}`)
  const where =
    having.length > HAVING_SHOWN_MAX ? 'others' : listed(having).replace(/ or ([^,]*)$/, ' and $1')
  throw new UsageError(`--${odd} does not go with ${command.noun} ${command.verb}: it goes with ${where}.`)
}

function readArguments(command: Command, typed: string[]): Record<string, unknown> {
  const names = Object.keys(command.arguments)
  const more = typed.slice(names.length)
  if (more.length > 0)
    throw new UsageError(`${more.join(' ')} is too much for ${command.noun} ${command.verb}.`)
  return readAll(
    command.arguments,
    name => typed[names.indexOf(name)],
    name => `The ${name}`,
  )
}

function readOptions(command: Command, values: Record<string, string | boolean | undefined>) {
  return readAll(
    command.options,
    name => values[name],
    name => `--${name}`,
  )
}

function readAll(
  parameters: Parameters,
  typedOf: (name: string) => string | boolean | undefined,
  called: (name: string) => string,
): Record<string, unknown> {
  const read = Object.entries(parameters).map(([name, parameter]) => {
    const typed = typedOf(name) ?? null
    if (typed === null && parameter.missing !== null) throw new UsageError(parameter.missing)
    return [name, parameter.read(typed, called(name))]
  })
  return Object.fromEntries(read)
}

/** Mistakes that are still taken for the word: two letters of a long one. */
const MISTAKES_MAX = 2

/** `: did you mean images?` where one is near; else a full stop. */
function meant(typed: string, known: readonly string[]): string {
  const near = known
    .map(one => ({ one, mistakes: mistakesBetween(typed, one) }))
    .filter(({ one, mistakes }) => mistakes <= Math.min(MISTAKES_MAX, one.length - 2))
    .sort((a, b) => a.mistakes - b.mistakes)[0]
  return near ? `: did you mean ${near.one}?` : '.'
}

/** How many letters are to be put in, left out or changed (Levenshtein). */
function mistakesBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const changed = (row[j] ?? 0) + (letter === b[j] ? 0 : 1)
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
