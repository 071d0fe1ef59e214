import { parseArgs } from 'node:util'

/** What was asked for cannot be understood. */
export class UsageError extends Error {}

export type ImagesCommand = { json: boolean } & (
  | { act: 'queue' | 'reports' }
  | { act: 'show' | 'show-reports' | 'close-reports'; id: string }
  | { act: 'approve'; id: string; seen: string }
  | { act: 'reject' | 'take-down'; id: string; reason: string }
)

/** What an operator asked for. */
export type OperatorCommand =
  | (ImagesCommand & { group: 'images' })
  | { group: 'books'; act: 'check'; json: boolean }

const REASON_CHARS_MAX = 500

export const USAGE = `Usage: npm run operator -- images <what>
       npm run operator -- books check

  queue                              Images that wait for an answer, the oldest first
  show <id>                          One of them, with all that was said of it
  approve <id> --seen <mark>         The community gets it, if it is still what was shown with that mark
  reject <id> --reason <words>       It stays its customer's own, who is told why
  reports                            Images of the community that customers reported, those of the most accounts first
  show-reports <id>                  What they said of one
  close-reports <id>                 Nothing is wrong with it: what was said is forgotten
  take-down <id> --reason <words>    Takes an image off the community, by the community's id of it

  books check                        Audits all books, and names each difference; the exit status is 1 where there is one

  --json                             Answers as JSON
`

/**
 * Reads what an operator typed.
 * @returns Null where help is wanted.
 * @throws UsageError with words for the operator.
 */
export function readCommand(args: string[]): OperatorCommand | null {
  const { values, positionals } = parse(args)
  if (values.help || positionals.length === 0) return null
  const [group, ...rest] = positionals
  if (group === 'books') return readBooks(rest, values)
  if (group !== 'images') throw new UsageError(`There is no ${group} here.\n\n${USAGE}`)
  return { group, ...readImages(rest, values) }
}

type Values = ReturnType<typeof parse>['values']

function readBooks([act, ...more]: string[], { json, reason, seen }: Values): OperatorCommand {
  if (act !== 'check') throw new UsageError(`Books cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  if (more.length > 0) throw new UsageError(`${more.join(' ')} is too much.\n\n${USAGE}`)
  if (reason !== undefined) throw new UsageError(`--reason goes with reject and take-down.\n\n${USAGE}`)
  if (seen !== undefined) throw new UsageError(`--seen goes with approve.\n\n${USAGE}`)
  return { group: 'books', act, json }
}

function readImages([act, id, ...more]: string[], { json, reason, seen }: Values): ImagesCommand {
  if (more.length > 0) throw new UsageError(`${more.join(' ')} is too much.\n\n${USAGE}`)
  if (reason !== undefined && act !== 'reject' && act !== 'take-down') {
    throw new UsageError(`--reason goes with reject and take-down.\n\n${USAGE}`)
  }
  if (seen !== undefined && act !== 'approve') throw new UsageError(`--seen goes with approve.\n\n${USAGE}`)
  switch (act) {
    case 'queue':
    case 'reports':
      if (id !== undefined) throw new UsageError(`${id} is too much.\n\n${USAGE}`)
      return { json, act }
    case 'show':
    case 'show-reports':
    case 'close-reports':
      return { json, act, id: required(id) }
    case 'approve':
      return { json, act, id: required(id), seen: seenOf(seen) }
    case 'reject':
    case 'take-down':
      return { json, act, id: required(id), reason: reasonOf(reason) }
    default:
      throw new UsageError(`Images cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  }
}

function parse(args: string[]) {
  const options = {
    json: { type: 'boolean', default: false },
    reason: { type: 'string' },
    seen: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
  }
}

function required(id: string | undefined): string {
  if (id === undefined) throw new UsageError(`Which image? Its id is missing.\n\n${USAGE}`)
  return id
}

function seenOf(seen: string | undefined): string {
  if (seen) return seen
  throw new UsageError('Say with --seen what you looked at: show prints it, and it changes with the image.')
}

function reasonOf(reason: string | undefined): string {
  const words = reason?.replace(/\s+/g, ' ').trim() ?? ''
  if (words === '') throw new UsageError('Say why with --reason: its customer reads it.')
  if (words.length > REASON_CHARS_MAX)
    throw new UsageError(`A reason has at most ${REASON_CHARS_MAX} characters.`)
  return words
}
