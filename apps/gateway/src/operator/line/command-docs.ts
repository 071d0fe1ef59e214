import { EXIT_WORDS } from './answer.ts'
import { CHANGE_OPTIONS, COMMON_OPTIONS, CONFIRM_OPTIONS, type Command } from './command.ts'
import { optionWords, typedAs, usageOf } from './help.ts'

/** The part of the operating guide on the command line, in Markdown. */
export function commandDocs(commands: readonly Command[]): string {
  const nouns = [...Map.groupBy(commands, ({ noun }) => noun)]
  return [
    nouns.map(([noun, verbs]) => docsOfNoun(noun, verbs)).join('\n'),
    'Options that commands share:',
    rows(
      'Option',
      Object.entries({ ...COMMON_OPTIONS, ...CHANGE_OPTIONS, ...CONFIRM_OPTIONS }).map(([name, one]) => [
        `\`${optionWords(name, one)}\``,
        one.help,
      ]),
    ),
    rows(
      'Exit status',
      Object.entries(EXIT_WORDS).map(([status, words]) => [status, words]),
    ),
  ]
    .join('\n\n')
    .concat('\n')
}

function docsOfNoun(noun: string, verbs: readonly Command[]): string {
  const examples = verbs.flatMap(command => command.examples.slice(0, 1))
  return [
    `### ${noun}\n`,
    rows(
      'Command',
      verbs.map(command => [`\`${usageOf(command)}\``, textOf(command)]),
    ),
    '',
    '```sh',
    ...examples.map(([words, does]) => `${typedAs(words)}   # ${does}`),
    '```',
    '',
  ].join('\n')
}

function textOf({ summary, details, changes, ...command }: Command): string {
  const destroys = 'destroys' in command && command.destroys === true
  return [
    `${summary}.`,
    ...(details === undefined ? [] : [details]),
    ...(destroys ? ['Wants its name typed, or `--yes`.'] : []),
  ].join(' ')
}

function rows(title: string, list: readonly (readonly [string, string])[]): string {
  const lines = list.map(([first, second]) => `| ${cell(first)} | ${cell(second)} |`)
  return [`| ${title} | What it does |`, '|---|---|', ...lines].join('\n')
}

const cell = (text: string) => text.replaceAll('|', '\\|')
