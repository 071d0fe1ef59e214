import { type Command, optionsOf } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The name that the program has in a shell with completion: `npm run` cannot be completed. */
export const PROGRAM = 'berth-operator'

/** What can stand at a place of the command line. */
interface Choices {
  /** Words with what they mean. */
  words: readonly (readonly [string, string])[]
  /** Also files of this computer. */
  files?: boolean
}

/**
 * A script for a shell: a function by the name of `PROGRAM` that runs the program, and its completion. Everything that can
 * be typed stands in it, so that Tab starts nothing and waits for nothing.
 * @param run The words that start the program.
 */
export function completionScript(shell: Shell, commands: readonly Command[], run: readonly string[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands, run)
}

const nounsOf = (commands: readonly Command[]) => [...Map.groupBy(commands, ({ noun }) => noun)]

/** What may follow each pair of noun and verb, and each option that takes a value. */
function places(command: Command): { places: Choices; values: [option: string, Choices][] } {
  const options = Object.entries(optionsOf(command))
  const args = Object.values(command.arguments)
  return {
    places: {
      words: [
        ...args.flatMap(({ type, help }) => (type?.choices ?? []).map(choice => [choice, help] as const)),
        ...options.map(([name, { help }]) => [`--${name}`, help] as const),
      ],
      files: args.some(({ type }) => type?.isFile === true),
    },
    values: options.flatMap(([name, { type, help }]) =>
      type === null
        ? []
        : [
            [
              `--${name}`,
              {
                words: (type.choices ?? []).map(choice => [choice, help] as const),
                files: type.isFile === true,
              },
            ],
          ],
    ),
  }
}

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`
const joined = ({ words }: Choices) => quoted(words.map(([word]) => word).join(' '))

function bashScript(commands: readonly Command[], run: readonly string[]): string {
  const reply = (choices: Choices) =>
    `COMPREPLY=($(compgen ${choices.files ? '-f ' : ''}-W ${joined(choices)} -- "$current"))`
  const cases = commands.map(command => {
    const { places: own, values } = places(command)
    const ofValues = values.map(([option, choices]) => `        ${option}) ${reply(choices)} ;;`)
    return [
      `    ${quoted(`${command.noun} ${command.verb}`)})`,
      `      case $previous in`,
      ...ofValues,
      `        *) ${reply(own)} ;;`,
      `      esac ;;`,
    ].join('\n')
  })
  const nouns = nounsOf(commands)
  const verbs = nouns.map(
    ([noun, all]) => `    ${quoted(`${noun} `)}) ${reply({ words: all.map(({ verb }) => [verb, '']) })} ;;`,
  )
  return `# The operator's command line with completion, for bash: source this, or put it into ~/.bashrc.
${PROGRAM}() { ${run.map(quoted).join(' ')} "$@"; }
_${PROGRAM.replace('-', '_')}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} noun='' verb='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      -*) ;;
      *) if [ -z "$noun" ]; then noun=\${COMP_WORDS[i]}; elif [ -z "$verb" ]; then verb=\${COMP_WORDS[i]}; fi ;;
    esac
  done
  COMPREPLY=()
  case "$noun $verb" in
    ' ') ${reply({ words: nouns.map(([noun]) => [noun, '']) })} ;;
${verbs.join('\n')}
${cases.join('\n')}
  esac
}
complete -F _${PROGRAM.replace('-', '_')} ${PROGRAM}
`
}

function zshScript(commands: readonly Command[], run: readonly string[]): string {
  const described = ({ words, files }: Choices) => {
    const list = words.map(([word, help]) => quoted(`${word.replaceAll(':', '\\:')}:${help}`)).join(' ')
    const parts = [
      ...(words.length > 0 ? [`choices=(${list}); _describe -V ${PROGRAM} choices`] : []),
      ...(files ? ['_files'] : []),
    ]
    return parts.length > 0 ? parts.join('; ') : ':'
  }
  const cases = commands.map(command => {
    const { places: own, values } = places(command)
    return [
      `    ${quoted(`${command.noun} ${command.verb}`)})`,
      '      case $previous in',
      ...values.map(([option, choices]) => `        ${option}) ${described(choices)} ;;`),
      `        *) ${described(own)} ;;`,
      '      esac ;;',
    ].join('\n')
  })
  const nouns = nounsOf(commands)
  const verbs = nouns.map(
    ([noun, all]) =>
      `    ${quoted(`${noun} `)}) ${described({ words: all.map(({ verb, summary }) => [verb, summary]) })} ;;`,
  )
  return `# The operator's command line with completion, for zsh: source this after compinit, or put it into ~/.zshrc.
${PROGRAM}() { ${run.map(quoted).join(' ')} "$@"; }
_${PROGRAM}() {
  local previous=$words[CURRENT-1] noun='' verb='' word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case $word in
      -*) ;;
      *) if [[ -z $noun ]]; then noun=$word; elif [[ -z $verb ]]; then verb=$word; fi ;;
    esac
  done
  case "$noun $verb" in
    ' ') ${described({ words: nouns.map(([noun, all]) => [noun, all.map(({ verb }) => verb).join(', ')]) })} ;;
${verbs.join('\n')}
${cases.join('\n')}
  esac
}
compdef _${PROGRAM} ${PROGRAM}
`
}

function fishScript(commands: readonly Command[], run: readonly string[]): string {
  const escaped = (word: string) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const at = (...words: string[]) => escaped(`__berth_operator_at ${words.join(' ')}`.trimEnd())
  const line = (condition: string, rest: string) => `complete -c ${PROGRAM} -n ${condition} ${rest}`
  const nouns = nounsOf(commands)
  const ofNouns = nouns.map(([noun, all]) =>
    line(at(), `-f -a ${escaped(noun)} -d ${escaped(all.map(({ verb }) => verb).join(', '))}`),
  )
  const ofCommands = commands.flatMap(command => {
    const { noun, verb, summary } = command
    const options = Object.entries(optionsOf(command)).map(([name, { type, help }]) => {
      const value =
        type === null ? '' : type.isFile ? ' -r' : ` -x -a ${escaped((type.choices ?? []).join(' '))}`
      return line(at(noun, verb), `-l ${name}${value} -d ${escaped(help)}`)
    })
    const args = Object.values(command.arguments)
    const choices = args.flatMap(({ type }) => type?.choices ?? [])
    const files = args.some(({ type }) => type?.isFile === true)
    return [
      line(at(noun), `-f -a ${escaped(verb)} -d ${escaped(summary)}`),
      line(at(noun, verb), files ? '-F' : `-f -a ${escaped(choices.join(' '))}`),
      ...options,
    ]
  })
  return `# The operator's command line with completion, for fish: source this, or put it into a file of
# ~/.config/fish/conf.d.
function ${PROGRAM}
    ${run.map(escaped).join(' ')} $argv
end
function __berth_operator_at
    set -l typed (string match -v -- '-*' (commandline -opc)[2..])
    test (count $typed) -ge (count $argv); or return 1
    test (count $argv) -lt 2; and test (count $typed) -ne (count $argv); and return 1
    for i in (seq (count $argv))
        test "$typed[$i]" = "$argv[$i]"; or return 1
    end
end
${[...ofNouns, ...ofCommands].join('\n')}
`
}
