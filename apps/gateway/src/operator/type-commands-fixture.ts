import type { Clock } from '../platform/clock.ts'
import type { Config } from '../platform/config/config.ts'
import type { Ids } from '../platform/ids.ts'
import { COMMANDS } from './commands.ts'
import type { OperatorContext } from './line/command.ts'
import { type OperatorLog, operate } from './line/operate.ts'
import type { Operated } from './operated.ts'

/** What became of a command that a test typed. */
export interface Typed {
  exit: number
  /** Standard output. */
  out: string
  /** Standard error. */
  err: string
}

/**
 * Types commands as an operator does, on parts that a test has made.
 * @param world.installation The domains that the commands need. @param world.answer What is typed where a name is asked for;
 *   left out: nobody sits there. @param world.heard Told of each question.
 */
export function createOperatorFixture(world: {
  installation: Partial<Operated>
  clock: Clock
  ids: Ids
  operators?: OperatorLog
  config?: Partial<Config>
  columns?: number
  answer?: string
  heard?: (question: string) => void
}) {
  const noted: string[] = []
  const context: Omit<OperatorContext, 'pour'> = {
    ...{ clock: world.clock, ids: world.ids, columns: world.columns ?? null },
    note: line => noted.push(line),
    config: () => world.config as Config,
    installation: async () => world.installation as Operated,
  }
  const log = world.operators ?? { begin: async () => async () => {} }

  /** @param words Each a word of the command line, or one text with single spaces between them. */
  async function type(...words: string[]): Promise<Typed> {
    const said = { out: '', err: '' }
    const { answer, heard } = world
    const exit = await operate(COMMANDS, words.length === 1 ? (words[0] ?? '').split(' ') : words, {
      context: {
        ...context,
        async pour(file) {
          for await (const part of file) said.out += part
        },
      },
      terminal: {
        out: text => (said.out += text),
        err: text => (said.err += text),
        ask:
          answer === undefined
            ? null
            : async question => {
                heard?.(question)
                return answer
              },
      },
      log: async () => log,
    })
    return { exit, ...said }
  }

  return {
    type,
    /** What was said beside answers. */
    noted,
    /** Types a command that must work. @returns Its answer for programs. */
    async json(...words: string[]): Promise<unknown> {
      const typed = await type(...(words.length === 1 ? (words[0] ?? '').split(' ') : words), '--json')
      if (typed.exit !== 0) throw new Error(`${words.join(' ')} ended with ${typed.exit}: ${typed.err}`)
      return JSON.parse(typed.out)
    },
  }
}
