import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import Docker from 'dockerode'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, never } from '../conformance/tools.ts'
import { encodeAnswer } from '../port/answers.ts'
import type { Engine } from '../port/engine.ts'
import { removeCloud } from './docker-cloud-fixture.ts'
import { createDockerEngine } from './docker-engine.ts'
import { createKeeperClient } from './keeper-client.ts'
import { KEEPER_SOCKET, type KeeperPlan } from './keeper-words.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

// Goal: shells in containers outlive the gateway that opened them, however it ends. Method: a process that stands for
// the gateway, opens one and is killed; the real engine and the real keeper. What any console must do is in the shared
// suite.

const probe = await probeDocker()
const PLACE = { kind: 'unix', socket_path: '/nowhere/docker.sock' } as const

test('[B9] a keeper is there for those who come at once, and ends by itself when it holds nothing', async () => {
  // It is started without asking the engine anything.
  const engine = randomBytes(8).toString('hex')
  const clients = Array.from({ length: 3 }, () => createKeeperClient({ engine, place: PLACE, lingerMs: 300 }))
  const answers = await Promise.all(clients.map(client => client.ask({ op: 'sessions', machine: 'none' })))
  expect(answers.map(({ answer }) => answer)).toEqual(Array(3).fill({ sessions: [] }))
  for (const { socket } of answers) socket.destroy()
  await eventually(async () => {
    expect(existsSync(clients[0]?.folder ?? '')).toBe(false)
    expect(await clients[0]?.askIfThere({ op: 'sessions', machine: 'none' })).toBeNull()
  })
})

describe('keepers that begin at once', () => {
  test('[B9] end as one, also after one that was killed, and whoever holds an abstract name hinders none', async () => {
    const { folder, askIfThere } = createKeeperClient({
      engine: randomBytes(8).toString('hex'),
      place: PLACE,
    })
    // Any local user may take such a name; the version before asked for this one.
    const holder = createServer().listen(
      `\0berth-terminals-${process.getuid?.()}-${folder.split('-').at(-1)}`,
    )
    await once(holder, 'listening')
    try {
      for (let round = 1; round <= 2; round++) {
        const keepers = Array.from({ length: 2 }, () => beginKeeper(folder))
        const ends = keepers.map(async keeper => ({ keeper, code: (await once(keeper, 'exit'))[0] }))
        const { keeper: second, code } = await Promise.race(ends)
        expect(code).toBe(0)
        const asked = await askIfThere({ op: 'sessions', machine: 'none' })
        expect(asked?.answer).toEqual({ sessions: [] })
        asked?.socket.destroy()
        const [first] = keepers.filter(keeper => keeper !== second)
        first?.kill('SIGKILL')
        await Promise.all(ends)
        expect(existsSync(join(folder, KEEPER_SOCKET))).toBe(true)
      }
    } finally {
      holder.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('leave to the one of the version before what it holds, since it has the same name and words', async () => {
    const client = createKeeperClient({ engine: randomBytes(8).toString('hex'), place: PLACE })
    mkdirSync(client.folder, { mode: 0o700 })
    const before = createServer(socket => socket.end(encodeAnswer({ sessions: ['theirs'] })))
    before.listen(join(client.folder, KEEPER_SOCKET))
    await once(before, 'listening')
    try {
      expect(await once(beginKeeper(client.folder), 'exit')).toEqual([0, null])
      const { answer, socket } = await client.ask({ op: 'sessions', machine: 'none' })
      socket.destroy()
      expect(answer).toEqual({ sessions: ['theirs'] })
    } finally {
      before.close()
      rmSync(client.folder, { recursive: true, force: true })
    }
  })
})

describeWhere('Docker', probe, () => {
  const socketPath = probe.ok ? probe.socket_path : ''
  const cloudId = `t${randomBytes(4).toString('hex')}`
  const id = 'kept'
  let engine: Engine
  let docker: string

  beforeAll(async () => {
    docker = await importTestImage(new Docker({ socketPath }))
    engine = await createDockerEngine({
      place: { kind: 'unix', socket_path: socketPath },
      cloudId,
      egress: null,
      log: pino({ level: 'silent' }),
    })
    await engine.machines.create(smallMachine(id, { id: 'test', parts: { docker } }), never)
    await engine.machines.start(id, never)
  })
  afterAll(async () => {
    await engine?.machines.remove(id, never)
    await removeCloud(new Docker({ socketPath }), cloudId)
  })

  test('a shell that ignores that it was closed is killed, and floods nobody', async () => {
    const screen = await openScreen(engine, id, { session: 'deaf' })
    screen.type("trap '' HUP; echo deaf-$$-; exec yes\n")
    const pid = await eventually(() => {
      const found = /\ndeaf-(\d+)-/.exec(screen.bytes().toString())?.[1]
      if (found === undefined) throw new Error('it has not come up')
      return found
    })
    await engine.console.closeSession(id, 'deaf')
    expect((await screen.end).reason).toBe('closed')
    await eventually(async () => {
      const { exit_code } = await engine.console.exec(id, ['/bin/sh', '-c', `kill -0 ${pid}`])
      expect(exit_code).not.toBe(0)
    })
  })

  describe('a gateway that is killed with -9', () => {
    test('[B9] leaves its shell to the next one, which is shown what there was', async () => {
      const number = await openAndDie(socketPath, cloudId, id)
      const screen = await openScreen(engine, id)
      await eventually(() => expect(screen.replay()).toContain(`shell-${number}\r\n`))
      screen.type('echo again-$$\n')
      await screen.shows(`again-${number}\r\n`)
      await engine.console.closeSession(id, 'web')
      expect((await screen.end).reason).toBe('closed')
    })
  })
})

/** Starts a keeper, whether or not there is one. */
function beginKeeper(folder: string): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.resolve('./terminal-keeper.ts'))], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const plan: KeeperPlan = { folder, place: PLACE, linger_ms: 60_000 }
  child.stdin?.end(JSON.stringify(plan))
  return child
}

/** Opens a shell in a process of its own, which is then killed. @returns The shell's process id in the machine. */
async function openAndDie(socketPath: string, cloudId: string, id: string): Promise<string> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(import.meta.resolve('./gateway-fixture.ts')), socketPath, cloudId, id],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  child.kill('SIGKILL')
  await once(child, 'exit')
  return line
}
