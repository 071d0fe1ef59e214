import type { OperatorEntry } from '../domains/audit/operator-log.ts'
import { customerNamed } from './credits-commands.ts'
import { looking, optional } from './line/command.ts'
import { minute } from './line/said.ts'
import { type Column, table } from './line/table.ts'
import { upTo, word } from './line/values.ts'

const ENTRIES = 50
const ENTRIES_MAX = 1_000

/** What operators have changed. */
export const logCommands = [
  looking({
    noun: 'log',
    verb: 'list',
    summary: 'What operators have changed by these commands, newest first',
    details: 'One that is begun and has no end died on the way, or runs still.',
    arguments: {},
    options: {
      customer: optional(
        word('<customer>'),
        'Only what concerns one: an address, an account number or an id',
      ),
      last: optional(upTo(ENTRIES_MAX), `How many; without it ${ENTRIES}`),
    },
    examples: [['log list --customer ada@example.com', 'what was done to one account, by whom and when']],
    async run(context, given) {
      const userId = given.customer === null ? null : await customerNamed(context, given.customer)
      const { operators } = (await context.installation()).audit
      const entries = await operators.list({ userId, max: given.last ?? ENTRIES })
      const data = entries.map(
        ({ id, who, command, target, userId: user, outcome, detail, at, endedAt }) => ({
          ...{ id, who, command, target, user_id: user, outcome, detail },
          ...{ at: at.toISOString(), ended_at: endedAt?.toISOString() ?? null },
        }),
      )
      return {
        data,
        text: entries.length === 0 ? 'Nothing was changed.\n' : table(entries, COLUMNS, context.columns),
      }
    },
  }),
]

const COLUMNS: Column<OperatorEntry>[] = [
  { title: 'AT', of: entry => minute(entry.at) },
  { title: 'WHO', of: entry => entry.who },
  { title: 'COMMAND', of: entry => entry.command },
  { title: 'ON', of: entry => entry.target },
  { title: 'HOW', of: entry => entry.outcome },
  { title: 'WHAT', of: entry => entry.detail },
]
