import { join } from 'node:path'
import { type Command, looking } from './line/command.ts'
import { completionScript, PROGRAM, SHELLS } from './line/completion.ts'

const OPERATOR = join(import.meta.dirname, 'operator.ts')

/**
 * Scripts for shells.
 * @param commands All that there are, these among them.
 */
export function completionCommands(commands: () => readonly Command[]): Command[] {
  return SHELLS.map(shell =>
    looking({
      noun: 'completion',
      verb: shell,
      summary: `A script for ${shell}: the function ${PROGRAM}, with completion`,
      arguments: {},
      options: {},
      examples: [
        [
          `completion ${shell} > ${shell === 'fish' ? '~/.config/fish/conf.d/berth.fish' : '~/.berth-operator'}`,
          shell === 'fish'
            ? 'from the next shell on'
            : `then put  source ~/.berth-operator  into ~/.${shell}rc`,
        ],
      ],
      async run() {
        const script = completionScript(shell, commands(), [process.execPath, OPERATOR])
        return { data: { shell, script }, text: script }
      },
    }),
  )
}
