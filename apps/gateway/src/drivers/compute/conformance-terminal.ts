import { expect, test } from 'vitest'
import { commands, eventually, type Subject, text } from './conformance-tools.ts'
import type { ComputeDriver, Pty } from './port.ts'

/** `seq 1 1000000` as a terminal shows it: each line feed gets a carriage return before it. */
const MILLION_LINES_BYTES = 6_888_896 + 1_000_000

/** How much may be under way while nobody reads: the buffers of the kernel and of one connection. */
const UNDER_WAY_BYTES_MAX = 4 * 1024 * 1024

/** What every driver's terminals must do. */
export function describeTerminal(subject: Subject): void {
  test('[B1] a terminal shows a prompt, echoes, knows its size and its changes, and tells its end', async () => {
    const driver = subject.driver()
    const { id, hostname } = await subject.running({ env: { FROM_MACHINE: 'yes' } })
    const screen = await openScreen(driver, id, { cols: 100, rows: 30, env: { FROM_TERMINAL: 'too' } })
    await screen.shows('# ')
    screen.pty.write('stty size; tty; echo "$FROM_MACHINE-$FROM_TERMINAL-$TERM"; hostname\n')
    await screen.shows('30 100')
    await screen.shows('/dev/')
    await screen.shows('yes-too-xterm-256color')
    await screen.shows(hostname)
    screen.pty.resize(132, 43)
    await eventually(async () => {
      screen.pty.write('stty size\n')
      await screen.shows('43 132', 200)
    })
    screen.pty.write('exit 5\n')
    expect(await screen.end).toEqual({ code: 5 })
  })

  test('a terminal passes every byte as it is', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const screen = await openScreen(driver, id)
    await screen.shows('# ')
    // Who types waits for this: a driver that never says it would let a terminal go dead after some typing.
    await new Promise<void>(taken => {
      screen.pty.write(Buffer.from('printf "\\303\\251\\377\\000\\033[1m|%s|" é漢\n'), taken)
    })
    await eventually(() => {
      const bytes = screen.bytes()
      expect(bytes.includes(Buffer.from([0xc3, 0xa9, 0xff, 0x00, 0x1b]))).toBe(true)
      expect(bytes.includes(Buffer.from('|é漢|'))).toBe(true)
    })
    screen.pty.kill()
    await screen.end
  })

  test('Ctrl+C reaches the program in the foreground', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const screen = await openScreen(driver, id)
    await screen.shows('# ')
    screen.pty.write('echo beg""ins; sleep 3600\n')
    await screen.shows('begins')
    await eventually(async () => expect(await commands(driver, id)).toContain('sleep 3600'))
    screen.pty.write('\x03')
    screen.pty.write('echo "code $?"\n')
    await screen.shows('code 130')
    screen.pty.kill()
    await screen.end
  })

  test('hanging up ends the shell and what it runs, and other terminals go on', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const [one, two] = await Promise.all([openScreen(driver, id), openScreen(driver, id)])
    await one.shows('# ')
    one.pty.write('sleep 3599\n')
    await eventually(async () => expect(await commands(driver, id)).toContain('sleep 3599'))
    one.pty.kill()
    await one.end
    await eventually(async () => expect(await commands(driver, id)).not.toContain('sleep 3599'))
    two.pty.write('echo st""ill\n')
    await two.shows('still')
    two.pty.kill()
    await two.end
  })

  test('a reader that pauses stops the program, fills no memory, and loses no byte', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const screen = await openScreen(driver, id)
    await screen.shows('# ')
    await makeQuiet(screen)
    screen.pty.pause()
    screen.pty.write('exec seq 1 1000000\n')
    await eventually(async () => expect(await commands(driver, id)).toContain('seq 1 1000000'))
    const heapBefore = process.memoryUsage()
    // A program that could run on would be through in a tenth of the time that these take.
    for (let turn = 0; turn < 20; turn++) await text(driver, id, 'sleep 0.05')
    expect(await commands(driver, id)).toContain('seq 1 1000000')
    expect(screen.bytes().length).toBe(0)
    const grown = process.memoryUsage().arrayBuffers - heapBefore.arrayBuffers
    expect(grown).toBeLessThan(UNDER_WAY_BYTES_MAX)
    screen.pty.resume()
    expect(await screen.end).toEqual({ code: 0 })
    const bytes = screen.bytes()
    expect(bytes.length).toBe(MILLION_LINES_BYTES)
    expect(bytes.subarray(-17).toString()).toBe('999999\r\n1000000\r\n')
  })

  test('output that is still unread when the shell ends is not lost', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const screen = await openScreen(driver, id)
    await screen.shows('# ')
    await makeQuiet(screen)
    screen.pty.pause()
    screen.pty.write('exec sh -c "seq 1 500; exit 3"\n')
    await eventually(async () => expect(await commands(driver, id)).not.toContain('seq'))
    screen.pty.resume()
    expect(await screen.end).toEqual({ code: 3 })
    expect(screen.bytes().toString()).toBe(Array.from({ length: 500 }, (_, at) => `${at + 1}\r\n`).join(''))
  })
}

interface Screen {
  pty: Pty
  bytes(): Buffer
  clear(): void
  /** Waits until the text has come. */
  shows(text: string, timeoutMs?: number): Promise<void>
  end: Promise<{ code: number | null }>
}

async function openScreen(
  driver: ComputeDriver,
  id: string,
  options: { cols: number; rows: number; env?: Record<string, string> } = { cols: 80, rows: 24 },
): Promise<Screen> {
  const pty = await driver.openPty(id, options)
  let chunks: Buffer[] = []
  pty.onData(chunk => chunks.push(Buffer.from(chunk)))
  const end = new Promise<{ code: number | null }>(resolve => pty.onExit(resolve))
  const bytes = () => Buffer.concat(chunks)
  return {
    pty,
    bytes,
    end,
    clear: () => {
      chunks = []
    },
    shows: async (wanted, timeoutMs = 15_000) => {
      const deadline = Date.now() + timeoutMs
      while (!bytes().includes(wanted)) {
        if (Date.now() > deadline) throw new Error(`no ${JSON.stringify(wanted)} in: ${bytes().toString()}`)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
  }
}

/** Has the shell write nothing of its own from here on. */
async function makeQuiet(screen: Screen): Promise<void> {
  screen.pty.write('bind "set enable-bracketed-paste off"; stty -echo; PS1=""; echo rea""dy\n')
  await screen.shows('ready\r\n')
  screen.clear()
}
