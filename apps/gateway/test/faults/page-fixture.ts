import { startWebTerminal } from '@berth/contract/instances'
import { eventually, openTerminal, type TestTerminal } from '../../src/domains/reach/reach-fixture.ts'
import type { Customer } from './customer-fixture.ts'

/** The page waits this long before it comes back, as the console does at first. */
const RETRY_MS = 300
const BACK_MS = 120_000

/** A page of the console that looks at a shell and comes back by itself when its connection breaks. */
export interface Page {
  /** The gateway that its connection goes to came from this address when it was opened. */
  readonly first: string
  /** How often its connection broke. */
  breaks(): number
  /** Returns when the page shows the shell that it showed before, and a command typed there answers. */
  untilBack(): Promise<void>
  close(): void
}

/**
 * Opens a page, and a shell if there is none.
 * @param where.first Address by which it opens; `where.later` that by which it comes back.
 */
export async function openPage(
  customer: Customer,
  instanceId: string,
  where: { first: string; later: string },
): Promise<Page> {
  const mark = `page-${word()}`
  let isOver = false
  let breaks = 0
  let terminal = await connect(where.first)
  await answers(terminal, mark)
  void follow()

  async function connect(origin: string): Promise<TestTerminal> {
    const { ticket } = await customer.at(origin).data(startWebTerminal, { body: { instance_id: instanceId } })
    return await openTerminal(origin, ticket)
  }

  async function follow(): Promise<void> {
    while (!isOver) {
      await terminal.closed
      if (isOver) return
      breaks += 1
      for (;;) {
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
        const next = await connect(where.later).catch(() => null)
        if (!next) continue
        terminal = next
        break
      }
    }
  }

  /** Types what only a shell can answer, and waits for it. */
  async function isBack(): Promise<boolean> {
    const current = terminal
    const replay = current.replay()
    if (replay === null || current.socket.readyState !== current.socket.OPEN) return false
    if (breaks > 0 && !replay.includes(mark))
      throw new Error(`another shell than before: ${JSON.stringify(replay)}`)
    return await Promise.race([
      answers(current, `back-${word()}`).then(() => true),
      current.closed.then(() => false),
    ])
  }

  return {
    first: where.first,
    breaks: () => breaks,
    untilBack: async () => void (await eventually('the page', isBack, BACK_MS)),
    close() {
      isOver = true
      terminal.socket.terminate()
    },
  }
}

/** The line as it is typed does not hold the word that it writes. */
async function answers(terminal: TestTerminal, said: string): Promise<void> {
  terminal.type(`echo ${said.replace('-', '"-"')}\n`)
  await terminal.shows(new RegExp(said))
}

function word(): string {
  return Math.random().toString(36).slice(2)
}
