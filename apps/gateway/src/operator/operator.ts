// What operators do with a running installation: `npm run operator -- images queue`, with the settings of the gateways, while
// at least one runs where the database is the embedded one. Answers go to standard output, as text or with --json.
import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../platform/clock.ts'
import { type Config, loadConfig } from '../platform/config/config.ts'
import { readSettingsFile } from '../platform/config/settings-file.ts'
import { systemIds } from '../platform/ids.ts'
import { COMMANDS } from './commands.ts'
import { EXIT, type Exit } from './line/answer.ts'
import type { OperatorContext } from './line/command.ts'
import { operate, type Terminal, wordsOf } from './line/operate.ts'

process.exit(await main(process.argv.slice(2)))

/** @returns The exit status. */
async function main(args: string[]): Promise<Exit> {
  const opened: { config?: Config; installation?: ReturnType<typeof open> } = {}
  const open = async () => {
    // What takes long to load is loaded where it is wanted: help and completion are there at once.
    const { openInstallation } = await import('./open-installation.ts')
    return await openInstallation(context.config())
  }
  const context: OperatorContext = {
    clock: systemClock,
    ids: systemIds,
    columns: process.stdout.isTTY ? process.stdout.columns : null,
    note: line => process.stderr.write(`${line}\n`),
    pour: file => pipeline(file, process.stdout, { end: false }),
    config() {
      opened.config ??= loadConfig()
      return opened.config
    },
    async installation() {
      opened.installation ??= open()
      return (await opened.installation).operated
    },
  }
  const who = `${userInfo().username}@${hostname()}`
  const log = async () => {
    const { operators } = (await context.installation()).audit
    return {
      begin: (entry: Omit<Parameters<typeof operators.begin>[0], 'who'>) =>
        operators.begin({ ...entry, who }),
    }
  }
  try {
    readSettingsFile()
    return await operate(COMMANDS, args, { context, terminal: terminal(), log })
  } catch (error) {
    process.stderr.write(`${wordsOf(error)}\n`)
    return EXIT.failed
  } finally {
    // One that could not be opened has been told.
    await opened.installation?.then(({ close }) => close()).catch(() => {})
  }
}

function terminal(): Terminal {
  const someoneIsThere = process.stdin.isTTY === true && process.stderr.isTTY === true
  return {
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
    ask: someoneIsThere ? ask : null,
  }
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}
