import { expect } from 'vitest'
import { heldBytes } from '../../../../test/held-bytes.ts'
import { openScreen, type Screen } from './screen.ts'
import { commands, eventually, type Subject, text } from './tools.ts'

/** More than the buffers of the kernel hold, on the way from a program to the gateway. */
const LINES = 1_000_000

/** What `seq 1 <lines>` writes as a terminal shows it: each line feed gets a carriage return before it. */
function shownBytes(lines: number): number {
  let bytes = 0
  for (let digits = 1, from = 1; from <= lines; digits++, from *= 10) {
    bytes += (Math.min(lines, from * 10 - 1) - from + 1) * (digits + 2)
  }
  return bytes
}

/** How much may be under way while nobody reads: the buffers of the kernel and of one connection. */
const UNDER_WAY_BYTES_MAX = 4 * 1024 * 1024

/** What every driver's terminals must do. */
export function describeTerminal(subject: Subject, { heldLines = LINES }: { heldLines?: number } = {}): void {
  subject.inside(
    '[B1] a terminal shows a prompt, echoes, knows its size and its changes, and tells its end',
    async () => {
      const engine = subject.engine()
      const { id, hostname } = await subject.running({ env: { FROM_MACHINE: 'yes' } })
      const screen = await openScreen(engine, id, { cols: 100, rows: 30, env: { FROM_TERMINAL: 'too' } })
      await screen.shows('# ')
      screen.type('stty size; tty; echo "$FROM_MACHINE-$FROM_TERMINAL-$TERM"; hostname\n')
      await screen.shows('30 100')
      await screen.shows('/dev/')
      await screen.shows('yes-too-xterm-256color')
      await screen.shows(hostname)
      screen.line.resize(132, 43)
      await eventually(async () => {
        screen.type('stty size\n')
        await screen.shows('43 132', 200)
      })
      screen.type('exit 5\n')
      expect(await screen.end).toEqual({ reason: 'exited', code: 5 })
    },
  )

  subject.inside('a terminal passes every byte as it is', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const screen = await openScreen(engine, id)
    await screen.shows('# ')
    screen.type('printf "\\303\\251\\377\\000\\033[1m|%s|" é漢\n')
    await eventually(() => {
      const bytes = screen.bytes()
      expect(bytes.includes(Buffer.from([0xc3, 0xa9, 0xff, 0x00, 0x1b]))).toBe(true)
      expect(bytes.includes(Buffer.from('|é漢|'))).toBe(true)
    })
    await engine.console.closeSession(id, 'web')
    await screen.end
  })

  subject.inside('Ctrl+C reaches the program in the foreground', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const screen = await openScreen(engine, id)
    await screen.shows('# ')
    screen.type('echo beg""ins; sleep 3600\n')
    await screen.shows('begins')
    await eventually(async () => expect(await commands(engine, id)).toContain('sleep 3600'))
    screen.type('\x03')
    screen.type('echo "code $?"\n')
    await screen.shows('code 130')
    await engine.console.closeSession(id, 'web')
    await screen.end
  })

  subject.inside('closing a session ends the shell and what it runs, and other sessions go on', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const [one, two] = await Promise.all([openScreen(engine, id), openScreen(engine, id, { session: 'two' })])
    await one.shows('# ')
    one.type('sleep 3599\n')
    await eventually(async () => expect(await commands(engine, id)).toContain('sleep 3599'))
    await engine.console.closeSession(id, 'web')
    expect(await one.end).toEqual({ reason: 'closed', code: null })
    await eventually(async () => expect(await commands(engine, id)).not.toContain('sleep 3599'))
    two.type('echo st""ill\n')
    await two.shows('still')
    await engine.console.closeSession(id, 'two')
    await two.end
  })

  subject.inside(
    'a reader that renders slowly stops the program, fills no memory, and loses no byte',
    async () => {
      const engine = subject.engine()
      const { id } = await subject.running()
      const screen = await openScreen(engine, id)
      await screen.shows('# ')
      await makeQuiet(screen)
      screen.renders(false)
      const program = `seq 1 ${heldLines}`
      screen.type(`exec ${program}\n`)
      await eventually(async () => expect(await commands(engine, id)).toContain(program))
      const heldBefore = heldBytes()
      // A program that could run on would be through in a tenth of the time that these take.
      for (let turn = 0; turn < 20; turn++) {
        await text(engine, id, 'sleep 0.05')
        screen.line.ack(0)
      }
      expect(await commands(engine, id)).toContain(program)
      expect(screen.bytes().length).toBeLessThan(shownBytes(heldLines) / 2)
      expect(heldBytes() - heldBefore).toBeLessThan(UNDER_WAY_BYTES_MAX)
      screen.renders(true)
      expect(await screen.end).toEqual({ reason: 'exited', code: 0 })
      const bytes = screen.bytes()
      expect(bytes.length).toBe(shownBytes(heldLines))
      expect(bytes.subarray(-32).toString()).toContain(`\n${heldLines - 1}\r\n${heldLines}\r\n`)
    },
  )

  subject.inside('output that is still unread when the shell ends is not lost', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const screen = await openScreen(engine, id)
    await screen.shows('# ')
    await makeQuiet(screen)
    screen.line.pause()
    screen.type('exec sh -c "seq 1 500; exit 3"\n')
    await eventually(async () => expect(await commands(engine, id)).not.toContain('seq'))
    screen.line.resume()
    expect(await screen.end).toEqual({ reason: 'exited', code: 3 })
    expect(screen.bytes().toString()).toBe(Array.from({ length: 500 }, (_, at) => `${at + 1}\r\n`).join(''))
  })
}

/** Has the shell write nothing of its own from here on. */
async function makeQuiet(screen: Screen): Promise<void> {
  screen.type('bind "set enable-bracketed-paste off"; stty -echo; PS1=""; echo rea""dy\n')
  await screen.shows('ready\r\n')
  screen.clear()
}
