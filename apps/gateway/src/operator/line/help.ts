import { EXIT_WORDS } from './answer.ts'
import { type Command, optionsOf, type Parameters } from './command.ts'

const TYPED = 'npm run operator --'
const COLUMNS = 100

/** An example as it is typed: where what is said goes into a file or a program, npm's own two lines are kept out of it. */
export function typedAs(words: string): string {
  const isRead = /--json\b| [>|] /.test(words)
  return `${isRead ? TYPED.replace('run', 'run --silent') : TYPED} ${words}`
}
/** Where the second column of a list begins, at most. */
const FIRST_COLUMN_MAX = 46

/** All nouns with what can be done to them. */
export function helpOfAll(commands: readonly Command[]): string {
  const groups = [...Map.groupBy(commands, ({ noun }) => noun)]
  const width = Math.max(...groups.map(([noun]) => noun.length)) + 2
  const lines = groups.map(([noun, verbs]) => wrapped(noun.padEnd(width), verbs.map(verbOf).join(', ')))
  const exits = Object.entries(EXIT_WORDS).map(([status, words]) => `  ${status}  ${words}`)
  return [
    `Usage: ${TYPED} <noun> <verb>`,
    'What operators do with a running installation, with the settings of its gateways.',
    lines.join('\n'),
    rows([
      [`${TYPED} <noun> --help`, 'what can be done to one of them'],
      [`${TYPED} <noun> <verb> --help`, 'what a command takes, with examples'],
      [`${TYPED} completion bash`, 'completion for bash, zsh or fish'],
    ]),
    ['Exit status:', ...exits].join('\n'),
  ]
    .join('\n\n')
    .concat('\n')
}

/** What can be done to one noun. */
export function helpOfNoun(commands: readonly Command[], noun: string): string {
  const verbs = commands.filter(command => command.noun === noun)
  return [
    `Usage: ${TYPED} ${noun} <verb>`,
    rows(verbs.map(command => [[verbOf(command), ...placesOf(command)].join(' '), command.summary])),
    `${TYPED} ${noun} <verb> --help says what a command takes, with examples.`,
  ]
    .join('\n\n')
    .concat('\n')
}

/** One command with all it takes. */
export function helpOfCommand(command: Command): string {
  const { noun, verb, summary, details, examples } = command
  const parts = [
    `Usage: ${TYPED} ${usageOf(command)}`,
    wrapped('', `${summary}.${details === undefined ? '' : ` ${details}`}`),
  ]
  const places = Object.entries(command.arguments).map(([name, { help, type }]): [string, string] => [
    type?.hint ?? name,
    help,
  ])
  if (places.length > 0) parts.push(rows(places))
  parts.push(
    rows(Object.entries(optionsOf(command)).map(([name, one]) => [optionWords(name, one), helpOf(one)])),
  )
  const shown = examples.map(([words, does]) => `  # ${does}\n  ${typedAs(words)}`)
  parts.push(['Examples:', ...shown].join('\n'))
  if (command.formerly && command.formerly.length > 0) {
    parts.push(`${noun} ${command.formerly.join(` and ${noun} `)} is the same as ${noun} ${verb}.`)
  }
  return parts.join('\n\n').concat('\n')
}

/** `coupons create <code> --amount <12.34> …`: what a command takes, what may be left out in brackets. */
export function usageOf(command: Command): string {
  const own = Object.entries(command.options)
  const must = own.filter(([, { missing }]) => missing !== null).map(([name, one]) => optionWords(name, one))
  const may = own.length > must.length || command.changes ? ['[options]'] : []
  return [command.noun, command.verb, ...placesOf(command), ...must, ...may].join(' ')
}

const verbOf = ({ verb }: Command) => verb
const placesOf = (command: Command) =>
  Object.values(command.arguments).map(({ type, missing }) => {
    const hint = type?.hint ?? ''
    return missing === null ? `[${hint}]` : hint
  })
/** `--until <yyyy-mm-dd>`. */
export const optionWords = (name: string, { type }: Parameters[string]) =>
  type === null ? `--${name}` : `--${name} ${type.hint}`
const helpOf = ({ help, missing }: Parameters[string]) => (missing === null ? help : `${help} (needed)`)

function rows(list: readonly (readonly [string, string])[]): string {
  const width = Math.min(FIRST_COLUMN_MAX, Math.max(...list.map(([first]) => first.length)) + 2)
  return list
    .map(([first, second]) =>
      // What is too long for its column has a line of its own.
      first.length + 2 > width
        ? `  ${first}\n${wrapped(' '.repeat(width), second)}`
        : wrapped(first.padEnd(width), second),
    )
    .join('\n')
}

/** Breaks `text` into lines behind a first column. */
function wrapped(first: string, text: string): string {
  const indent = first === '' ? '' : '  '
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && first.length + line.length + word.length > COLUMNS) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  lines.push(line)
  return lines
    .map((one, index) => `${indent}${index === 0 ? first : ' '.repeat(first.length)}${one}`.trimEnd())
    .join('\n')
}
