import { EXIT } from './line/answer.ts'
import { looking } from './line/command.ts'

/** Audits all books (B2). */
export const booksCommands = [
  looking({
    noun: 'books',
    verb: 'check',
    summary: 'Audits all books, and names each difference with both of its sides',
    details: 'The exit status is 1 where there is one, so that a timer can call it.',
    arguments: {},
    options: {},
    examples: [
      ['books check', 'says whether the books balance'],
      ['books check --json', 'the same for a program'],
    ],
    async run({ installation }) {
      const problems = await (await installation()).billing.checkBooks()
      const failed = problems.length > 0
      return {
        data: { balanced: !failed, problems },
        text: failed ? problems.map(problem => `${problem}\n`).join('') : 'The books balance.\n',
        ...(failed ? { exit: EXIT.refused } : {}),
      }
    },
  }),
]
