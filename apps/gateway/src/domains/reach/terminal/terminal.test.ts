import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startWebTerminal, stopWebTerminal } from '@berth/contract/instances'
import { TERMINAL_SESSIONS_MAX, TERMINAL_TICKET_MS } from '@berth/contract/limits'
import { TERMINAL_CLOSE, TERMINAL_FRAME, TERMINAL_PATH, TERMINAL_SUBPROTOCOL } from '@berth/contract/terminal'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { describeWhere, never } from '../../../drivers/compute/conformance/tools.ts'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import { probeSandbox } from '../../../drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../../../drivers/compute/sandbox/sandbox-engine.ts'
import {
  CALLERS,
  type ConnectFixture,
  eventually,
  openTerminal,
  startConnectFixture,
  type TerminalOptions,
  type TestTerminal,
} from '../reach-fixture.ts'

// Goal: the web terminal as a browser meets it. Method: the real server and a real sandbox; sockets that speak the
// protocol as the console does.

/** `seq 1 1000000` as a terminal shows it: each line feed gets a carriage return before it. */
const MILLION_LINES_BYTES = 6_888_896 + 1_000_000
const ALTERNATE_SCREEN = new RegExp(`${String.fromCharCode(27)}\\[\\?1049hon`)
/** As much as the machine's side keeps of a shell. */
const HISTORY_BYTES = 256 * 1024
const LIMITS = { tabsPerInstanceMax: 3 }
/** What the gateway may hold for one slow tab. */
const HELD_BYTES_MAX = 2 * 1024 * 1024

describeWhere('the sandbox', await probeSandbox(), () => {
  let dataDir: string
  let driver: Engine
  let fixture: ConnectFixture
  let id: string
  let opened: TestTerminal[] = []

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'berth-terminal-'))
    driver = await createSandboxEngine({ dataDir, log: pino({ level: 'silent' }) })
    fixture = await startConnectFixture(driver, { terminal: LIMITS })
    ;({ id } = await fixture.addInstance())
    await startMachine(driver, id)
  })
  afterEach(async () => {
    fixture.sessions.reopen(CALLERS.anna.sessionId)
    await fixture.connect.terminals.stop(id, null)
    await Promise.all(opened.map(terminal => terminal.leave()))
    opened = []
  })
  afterAll(async () => {
    await fixture.close()
    await driver.machines.remove(id, never)
    await driver.shutdown()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const open = async (options: TerminalOptions = {}) => {
    const terminal = await openTerminal(fixture.server.origin, await fixture.ticket(id), options)
    opened.push(terminal)
    return terminal
  }

  describe('[R2.23] a shell in the browser', () => {
    test('[B1] is born in the size that the tab said, echoes, and follows a change of size', async () => {
      const terminal = await open({ cols: 101, rows: 31 })
      await terminal.shows(/[#$] $/)
      expect(terminal.frames.map(({ kind }) => kind)).toEqual(['replay_begin', 'replay_end'])
      terminal.type('stty size; echo "home $HOME"\r')
      await terminal.shows(/\r31 101\r\nhome \/root\r\n/)
      terminal.resize(140, 50)
      terminal.type('stty size\r')
      await terminal.shows(/\r50 140\r\n/)
    })

    test('what is typed before the shell is there is not lost', async () => {
      const terminal = await open()
      terminal.type('echo ear""ly\r')
      await terminal.shows(/early\r\n/)
    })

    test('[B9] a reload finds the same shell and sees its screen again', async () => {
      const before = await open()
      before.type('echo "shell $$"; export KEPT=yes\r')
      const [, pid] = await before.shows(/shell (\d+)\r\n/)
      const screen = before.text()
      await before.leave()
      expect(await fixture.connect.terminals.sessions(id)).toEqual([1])
      const after = await open()
      await eventually('the replay', () => after.replay() !== null)
      expect(after.text().startsWith(screen.slice(0, 20))).toBe(true)
      expect(after.text()).toContain(`shell ${pid}`)
      after.type('echo "again $$ $KEPT"\r')
      await after.shows(new RegExp(`again ${pid} yes\r\n`))
    })

    test('a full-screen program is told to redraw after a reload', async () => {
      const before = await open()
      await before.shows(/[#$] $/)
      // A shell of its own shares its process group with what it starts, so that the signal reaches it.
      const program = 'trap "stty size" WINCH; printf "\\033[?1049h%s" on; while :; do sleep 0.02; done'
      before.type(`sh -c '${program}'\r`)
      await before.shows(ALTERNATE_SCREEN)
      await before.leave()
      const after = await open()
      await eventually('the replay', () => after.replay() !== null)
      // There and back again in moments: a program that is slow to notice is told once.
      await after.shows(/on(?:2[34] 80\r\n)*24 80\r\n/)
    })

    test('two tabs see the same shell, and the last size counts', async () => {
      const one = await open({ cols: 80, rows: 24 })
      await one.shows(/[#$] $/)
      const two = await open({ cols: 90, rows: 20 })
      await eventually('the replay', () => two.replay() !== null)
      one.type('echo both; stty size\r')
      await Promise.all([one.shows(/both\r\n20 90/), two.shows(/both\r\n20 90/)])
      await two.leave()
      one.type('echo alo""ne\r')
      await one.shows(/alone\r\n/)
    })

    test('the end of the shell is told with its code, and the next socket gets a new one', async () => {
      const terminal = await open()
      terminal.type('exit 7\r')
      expect(await terminal.closed).toEqual({
        code: TERMINAL_CLOSE.shell_exited.code,
        reason: 'shell_exited',
      })
      expect(terminal.frames.at(-1)).toEqual({ kind: 'exit', reason: 'shell_exited', code: 7 })
      const next = await open()
      next.type('echo fr""esh\r')
      await next.shows(/fresh\r\n/)
    })
  })

  describe('[R2.23] several shells of one instance', () => {
    const start = async (session?: number) =>
      fixture.call(startWebTerminal, { body: { instance_id: id, ...(session && { session }) } })
    const openShell = async (session: number) => {
      const terminal = await fixture.openShell(id, session)
      opened.push(terminal)
      return terminal
    }

    test('[B9] two numbers are two shells, and a reload finds both with what each showed', async () => {
      expect((await start()).data).toMatchObject({ sessions: [], sessions_max: TERMINAL_SESSIONS_MAX })
      const first = await openShell(1)
      const third = await openShell(3)
      const pids: string[] = []
      for (const terminal of [first, third]) {
        terminal.type('echo "shell $$"\r')
        pids.push((await terminal.shows(/shell (\d+)\r\n/))[1] ?? '')
        await terminal.leave()
      }
      expect(pids[0]).not.toBe(pids[1])
      expect((await start()).data.sessions).toEqual([1, 3])
      const again = await openShell(3)
      await eventually('the replay', () => again.replay() !== null)
      expect(again.text()).toContain(`shell ${pids[1]}`)
      expect(again.text()).not.toContain(`shell ${pids[0]}`)
      again.type('echo "again $$"\r')
      await again.shows(new RegExp(`again ${pids[1]}\r\n`))
    })

    test('the first keeps the name that it had when it was the only one', async () => {
      await (await openShell(1)).shows(/[#$] $/)
      await (await openShell(2)).shows(/[#$] $/)
      expect((await driver.console.sessions(id)).sort()).toEqual(['web', 'web-2'])
    })

    test('[R7.4] one is ended by its number, the others go on; without a number all end', async () => {
      const shells = [await openShell(1), await openShell(2), await openShell(8)]
      for (const shell of shells) await shell.shows(/[#$] $/)
      const stop = (session?: number | null) =>
        fixture.call(stopWebTerminal, { body: { instance_id: id, ...(session && { session }) } })
      expect(await stop(2)).toMatchObject({ httpStatus: 200 })
      expect((await shells[1]?.closed)?.code).toBe(TERMINAL_CLOSE.stopped.code)
      expect((await start()).data.sessions).toEqual([1, 8])
      shells[2]?.type('echo st""ill\r')
      await shells[2]?.shows(/still\r\n/)
      // One that is not there is none to be ended.
      expect(await stop(5)).toMatchObject({ httpStatus: 200 })
      expect(await stop()).toMatchObject({ httpStatus: 200 })
      for (const shell of shells) expect((await shell.closed).code).toBe(TERMINAL_CLOSE.stopped.code)
      expect((await start()).data.sessions).toEqual([])
    })

    test.each([
      [TERMINAL_SESSIONS_MAX + 1, 'shells_max'],
      [-1, 'too_small'],
      [1.5, 'not_whole'],
    ])('number %d is refused, and opens nothing', async (session, rule) => {
      const input = { body: { instance_id: id, session } }
      for (const called of [startWebTerminal, stopWebTerminal]) {
        expect(await fixture.call(called, input)).toMatchObject({
          httpStatus: 400,
          code: 'validation_failed',
          fields: [{ path: 'session', rule }],
        })
      }
      expect(await driver.console.sessions(id)).toEqual([])
    })

    test('[R2.23] a virtual machine has a serial console beside them, which a pod has not', async () => {
      const vm = await fixture.addInstance({ kind: 'VM' })
      const ask = (instance_id: string, session: number) =>
        fixture.call(startWebTerminal, { body: { instance_id, session } })
      expect((await ask(vm.id, 0)).data).toMatchObject({
        path: `${TERMINAL_PATH}?session=0`,
        sessions: [],
        sessions_max: 8,
        has_serial: true,
      })
      expect(await ask(id, 0)).toMatchObject({
        code: 'validation_failed',
        fields: [{ path: 'session', rule: 'vm_only' }],
      })
      expect((await ask(id, 1)).data).toMatchObject({ has_serial: false })
    })

    test('a ticket for one shell opens no other', async () => {
      for (const [session, path] of [
        [2, TERMINAL_PATH],
        [2, `${TERMINAL_PATH}?session=3`],
        [1, `${TERMINAL_PATH}?session=2`],
        [2, `${TERMINAL_PATH}?session=9`],
      ] as const) {
        const { ticket } = (await start(session)).data
        await expect(openTerminal(fixture.server.origin, ticket, { path })).rejects.toThrow('HTTP 401')
      }
    })

    test('[R6.4] another customer gets no ticket for any, and ends none', async () => {
      await (await openShell(2)).shows(/[#$] $/)
      for (const called of [startWebTerminal, stopWebTerminal]) {
        const input = { body: { instance_id: id, session: 2 } }
        expect(await fixture.call(called, input, 'ben')).toMatchObject({ httpStatus: 404, code: 'not_found' })
      }
      expect(await fixture.connect.terminals.sessions(id)).toEqual([2])
    })
  })

  describe('ends', () => {
    test('[R2.23] [R7.4] stop-web-terminal ends the shell and everything in it', async () => {
      const terminal = await open()
      terminal.type('echo "shell $$"; sleep 4242\r')
      const [, pid] = await terminal.shows(/shell (\d+)\r\n/)
      const answer = await fixture.call(stopWebTerminal, { body: { instance_id: id } })
      expect(answer.data).toEqual({ instance_id: id })
      expect((await terminal.closed).code).toBe(TERMINAL_CLOSE.stopped.code)
      expect(await fixture.connect.terminals.sessions(id)).toEqual([])
      await eventually('the end of the shell', async () => {
        const { stdout } = await driver.console.exec(id, ['sh', '-c', 'ls /proc'])
        return !stdout.split('\n').includes(pid ?? '')
      })
    })

    test('an instance that stops closes its terminals', async () => {
      const terminal = await open()
      await terminal.shows(/[#$] $/)
      await fixture.setStatus(id, 'stopping')
      try {
        expect((await terminal.closed).code).toBe(TERMINAL_CLOSE.instance_stopped.code)
        expect(fixture.connect.terminals.instances()).toEqual([])
      } finally {
        await fixture.setStatus(id, 'running')
      }
    })

    test('an instance that stopped after the ticket says so on the socket', async () => {
      const ticket = await fixture.ticket(id)
      await fixture.setStatus(id, 'stopped')
      try {
        const terminal = await openTerminal(fixture.server.origin, ticket)
        expect((await terminal.closed).reason).toBe('instance_stopped')
      } finally {
        await fixture.setStatus(id, 'running')
      }
    })

    test('a session that ends closes its sockets; the shell stays', async () => {
      const terminal = await open()
      await terminal.shows(/[#$] $/)
      fixture.sessions.end(CALLERS.anna.sessionId)
      expect((await terminal.closed).code).toBe(TERMINAL_CLOSE.signed_out.code)
      expect(await fixture.connect.terminals.sessions(id)).toEqual([1])
    })

    test('one tab too many is turned away, the others stay', async () => {
      const tabs = [await open(), await open(), await open()]
      for (const tab of tabs) await tab.shows(/[#$] $/)
      const late = await open()
      expect((await late.closed).code).toBe(TERMINAL_CLOSE.too_many_sockets.code)
      tabs[0]?.type('echo st""ill\r')
      await tabs[2]?.shows(/still\r\n/)
    })
  })

  describe('limits', () => {
    test.each([
      [
        'no more tabs than a gateway may have are let in',
        { tabsMax: 0 },
        TERMINAL_CLOSE.too_many_shells.code,
      ],
      ['a socket that does not say its size is ended', { firstFrameMs: 30 }, TERMINAL_CLOSE.bad_frame.code],
    ])('%s', async (_, limits, code) => {
      const other = await startConnectFixture(driver, { terminal: limits })
      try {
        await other.addInstance({ id })
        const says = !('firstFrameMs' in limits)
        const tab = await openTerminal(other.server.origin, await other.ticket(id), { saysSize: says })
        expect((await tab.closed).code).toBe(code)
        expect(other.connect.terminals.gauge()).toEqual({ sockets: 0, bytesHeld: 0 })
      } finally {
        await other.close()
      }
    })
  })

  describe('the door', () => {
    test('a ticket opens one socket, even for two at once', async () => {
      const ticket = await fixture.ticket(id)
      const tries = await Promise.allSettled(
        Array.from({ length: 4 }, () => openTerminal(fixture.server.origin, ticket)),
      )
      opened.push(...tries.flatMap(one => (one.status === 'fulfilled' ? [one.value] : [])))
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const one of tries) {
        if (one.status === 'rejected') expect(one.reason).toEqual(new Error('HTTP 401'))
      }
    })

    test('a ticket is over after its time', async () => {
      const ticket = await fixture.ticket(id)
      fixture.clock.offsetMs = TERMINAL_TICKET_MS
      try {
        await expect(openTerminal(fixture.server.origin, ticket)).rejects.toThrow('HTTP 401')
      } finally {
        fixture.clock.offsetMs = 0
      }
    })

    test('a ticket of a session that ended is refused', async () => {
      const ticket = await fixture.ticket(id)
      fixture.sessions.end(CALLERS.anna.sessionId)
      await expect(openTerminal(fixture.server.origin, ticket)).rejects.toThrow('HTTP 401')
      expect(await fixture.connect.terminals.sessions(id)).toEqual([])
    })

    test('a session that ends before the socket has said its size closes it', async () => {
      const silent = await open({ saysSize: false })
      fixture.sessions.end(CALLERS.anna.sessionId)
      expect((await silent.closed).code).toBe(TERMINAL_CLOSE.signed_out.code)
    })

    test('a session that ends between the look at it and the handshake closes the socket', async () => {
      const ticket = await fixture.ticket(id)
      fixture.sessions.endOnceSeen(CALLERS.anna.sessionId)
      const late = await openTerminal(fixture.server.origin, ticket, { saysSize: false })
      expect((await late.closed).code).toBe(TERMINAL_CLOSE.signed_out.code)
    })

    test.each([
      ['a ticket that was never given', [TERMINAL_SUBPROTOCOL, 'berth.ticket.never']],
      ['no ticket', [TERMINAL_SUBPROTOCOL]],
      ['no subprotocol', ['berth.ticket.never']],
    ])('%s is refused', async (_, protocols) => {
      await expect(openTerminal(fixture.server.origin, '', { protocols })).rejects.toThrow('HTTP 401')
    })

    test('a page of another origin is refused, with a good ticket too', async () => {
      const ticket = await fixture.ticket(id)
      const origin = 'http://aaaaaaaaaaaaaaaaaaaa-8000.localhost'
      await expect(openTerminal(fixture.server.origin, ticket, { origin })).rejects.toThrow('HTTP 403')
      opened.push(await openTerminal(fixture.server.origin, ticket, { origin: fixture.server.origin }))
    })

    test('[R6.4] another customer gets no ticket, and cannot end the shell', async () => {
      await (await open()).shows(/[#$] $/)
      const body = { instance_id: id }
      expect(await fixture.call(startWebTerminal, { body }, 'ben')).toMatchObject({
        httpStatus: 404,
        code: 'not_found',
      })
      expect(await fixture.call(stopWebTerminal, { body }, 'ben')).toMatchObject({ code: 'not_found' })
      expect(await fixture.connect.terminals.sessions(id)).toEqual([1])
    })

    test('words that are not of the protocol end the socket, not the shell', async () => {
      const tab = await open()
      await tab.shows(/[#$] $/)
      tab.socket.send(Buffer.of(TERMINAL_FRAME.output, 1))
      expect((await tab.closed).code).toBe(TERMINAL_CLOSE.bad_frame.code)
      const text = await open()
      text.socket.send('hello')
      expect((await text.closed).code).toBe(TERMINAL_CLOSE.bad_frame.code)
      const long = await open()
      long.socket.send(Buffer.alloc(1_000_000))
      expect((await long.closed).code).toBe(1009)
      expect(await fixture.connect.terminals.sessions(id)).toEqual([1])
    })
  })

  describe('a flood', () => {
    test('a million lines to a tab that renders slowly arrive whole, and the gateway holds little', async () => {
      const terminal = await open({ acks: false })
      await terminal.shows(/[#$] $/)
      let heldMax = 0
      let acked = 0
      const slow = setInterval(() => {
        heldMax = Math.max(heldMax, fixture.connect.terminals.gauge().bytesHeld)
        const bytes = Math.min(terminal.outputBytes() - acked, 128 * 1024)
        acked += bytes
        terminal.ack(bytes)
      }, 5)
      const before = terminal.outputBytes()
      terminal.type('seq 1 1000000; echo "do""ne"\r')
      await terminal.shows(/done\r\n/)
      clearInterval(slow)
      expect(terminal.outputBytes() - before).toBeGreaterThan(MILLION_LINES_BYTES)
      expect(terminal.text()).toContain('\r\n500000\r\n500001\r\n')
      expect(heldMax).toBeLessThan(HELD_BYTES_MAX)
    })

    test('a tab that renders nothing halts the program', async () => {
      const terminal = await open({ acks: false })
      await terminal.shows(/[#$] $/)
      terminal.type('seq 1 1000000; echo "do""ne" > /root/marker\r')
      await eventually('the halt', () => terminal.outputBytes() > 400_000)
      const marked = async () =>
        (await driver.console.exec(id, ['test', '-e', '/root/marker'])).exit_code === 0
      expect(await marked()).toBe(false)
      expect(terminal.outputBytes()).toBeLessThan(MILLION_LINES_BYTES / 2)
      terminal.ack(terminal.outputBytes())
      terminal.renders()
      await terminal.shows(/\r\n999999\r\n1000000\r\n/)
      await eventually('the end of the program', marked)
      expect(fixture.connect.terminals.gauge().bytesHeld).toBeLessThan(HELD_BYTES_MAX)
      expect(terminal.frames.filter(({ kind }) => kind === 'replay_begin')).toHaveLength(1)
    })

    test('without a tab the program goes on, and what is kept stays small', async () => {
      const before = await open()
      await before.shows(/[#$] $/)
      before.type('seq 1 1000000; echo "do""ne"\r')
      await before.shows(/\r\n1000\r\n/)
      await before.leave()
      const replay = await eventually('a replay of the end', async () => {
        const tab = await open()
        await eventually('the replay', () => tab.replay() !== null)
        await tab.leave()
        return tab.replay()?.includes('\r\n1000000\r\ndone\r\n') && tab.replay()
      })
      expect(replay.length).toBeLessThanOrEqual(HISTORY_BYTES)
      expect(replay).toMatch(/^\d+\r\n/)
    })
  })
})

async function startMachine(driver: Engine, id: string): Promise<void> {
  await driver.machines.create(
    {
      id,
      hostname: 'terminal',
      image: { id: 'host', parts: { sandbox: 'host' } },
      cpu_count: 1,
      memory_mb: 512,
      disk_gb: 5,
      gpu_uuids: [],
      env: {},
      command: null,
      ports: [],
    },
    never,
  )
  await driver.machines.start(id, never)
}
