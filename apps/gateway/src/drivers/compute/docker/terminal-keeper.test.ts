import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import Docker from 'dockerode'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import { createDockerEngine } from './docker-engine.ts'
import { createKeeperClient } from './keeper-client.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

// Goal: shells in containers outlive the gateway that opened them, however it ends. Method: a process that stands for
// the gateway, opens one and is killed; the real engine and the real keeper. What any console must do is in the shared
// suite.

const probe = await probeDocker()

test('[B9] a keeper is there for those who come at once, and ends by itself when it holds nothing', async () => {
  // It is started without asking the engine anything.
  const place = { kind: 'unix', socket_path: '/nowhere/docker.sock' } as const
  const engine = randomBytes(8).toString('hex')
  const clients = Array.from({ length: 3 }, () => createKeeperClient({ engine, place, lingerMs: 300 }))
  const answers = await Promise.all(clients.map(client => client.ask({ op: 'sessions', machine: 'none' })))
  expect(answers.map(({ answer }) => answer)).toEqual(Array(3).fill({ sessions: [] }))
  for (const { socket } of answers) socket.destroy()
  await eventually(() => expect(existsSync(clients[0]?.folder ?? '')).toBe(false))
  expect(await clients[0]?.askIfThere({ op: 'sessions', machine: 'none' })).toBeNull()
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
      log: pino({ level: 'silent' }),
    })
    await engine.machines.create(smallMachine(id, { id: 'test', parts: { docker } }), never)
    await engine.machines.start(id, never)
  })
  afterAll(() => engine?.machines.remove(id, never))

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
