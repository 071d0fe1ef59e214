import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DeployBody,
  deployInstance,
  getInstanceLogs,
  type Instance,
  listInstanceEvents,
  listInstances,
} from '@berth/contract/instances'
import { LOG_BYTES_MAX } from '@berth/contract/limits'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { describeWhere, eventually } from '../src/drivers/compute/conformance/tools.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

// Goal: a start command that ended is told to its customer, whatever it was, and what was asked for happens then. Method:
// the whole gateway over HTTP, with real machines.

const CREDIT_CENTS = 10_000

describeWhere('start commands', await probeSandbox(), () => {
  let dataDir: string
  let engine: Engine
  let gateway: TestGateway
  let token: string
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'berth-commands-'))
    engine = await createSandboxEngine({ dataDir, log: pino({ level: 'silent' }) })
    gateway = await startGateway({ compute: engine })
    const customer = await gateway.signUp()
    token = customer.token
    await gateway.grant(customer.userId, CREDIT_CENTS)
  })
  afterAll(async () => {
    await gateway?.stop()
    await engine?.shutdown()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const deploy = async (body: Partial<DeployBody>) => {
    const { instance_id } = await gateway.data(deployInstance, { body: deployBody(body) }, { token })
    return instance_id
  }
  const read = async (id: string): Promise<Instance> => {
    const found = (await gateway.data(listInstances, {}, { token })).find(one => one.instance_id === id)
    if (!found) throw new Error(`${id} is not listed`)
    return found
  }
  const eventsOf = async (id: string) =>
    (await gateway.data(listInstanceEvents, { params: { id } }, { token }))
      .filter(({ code }) => code === 'command_ended' || code === 'exited')
      .map(({ code, detail }) => `${code}: ${detail}`)
  const logOf = (id: string) => gateway.data(getInstanceLogs, { params: { id } }, { token })

  test.each([
    ['echo bye; exit 3', 3, /^bye$/m],
    ['/no/such/program', 127, /not found|No such file/],
  ])(
    '%s is told with its code, an event and its log, and the machine goes on',
    async (start_command, code, said) => {
      const id = await deploy({ start_command })
      const ended = await eventually(async () => {
        const found = await read(id)
        expect(found.command_end).toMatchObject({ exit_code: code, count: 1, again_at: null })
        return found
      })
      expect(ended).toMatchObject({ status: 'running', start_command, on_command_end: 'keep' })
      expect(Math.abs(Date.now() - Date.parse(ended.command_end?.ended_at ?? ''))).toBeLessThan(60_000)
      expect(await eventsOf(id)).toEqual([`command_ended: exit code ${code}`])
      const { text } = await logOf(id)
      expect(text).toMatch(said)
      expect(text).toContain(`the start command ended with code ${code}`)
      expect((await engine.console.exec(id, ['echo', 'on'])).stdout).toBe('on\n')
    },
  )

  test('one that is to be run again is, without an event for each time', async () => {
    const id = await deploy({ start_command: 'echo ran; exit 4', on_command_end: 'restart' })
    await eventually(async () => expect((await logOf(id)).text.match(/^ran$/gm)).toHaveLength(3))
    expect(await read(id)).toMatchObject({ status: 'running', command_end: { exit_code: 4 } })
    expect((await read(id)).command_end?.again_at).not.toBeNull()
    expect(await eventsOf(id)).toEqual(['command_ended: exit code 4'])
  })

  test('one that the machine is to stop with stops it, which is told with the code', async () => {
    const id = await deploy({ start_command: 'exit 5', on_command_end: 'stop' })
    const ended = await eventually(async () => {
      const found = await read(id)
      expect(found.status).toBe('exited')
      return found
    })
    expect(ended).toMatchObject({
      reason: { code: 'command_ended', detail: 'exit code 5' },
      command_end: null,
      stopped_micro_per_day: '0',
    })
    expect(await eventsOf(id)).toEqual(['exited: exit code 5'])
    expect((await logOf(id)).text).toContain('ended with code 5')
  })

  test('a machine that floods its log and its report holds up nothing of the others', async () => {
    const flood = 'yes 0123456789 & for f in /proc/[0-9]*/fd/6; do yes 9 > "$f" & done; exit 6'
    const id = await deploy({ start_command: flood })
    await eventually(async () => expect((await read(id)).status).toBe('running'))
    const other = await deploy({ start_command: 'exit 7' })
    await eventually(async () => expect((await read(other)).command_end).toMatchObject({ exit_code: 7 }))
    // In the moment in which its older half is dropped there is less.
    const { text } = await eventually(async () => {
      const log = await logOf(id)
      expect(log.cut).toBe(true)
      return log
    })
    expect(text.length).toBeLessThanOrEqual(LOG_BYTES_MAX)
    expect((await eventsOf(id)).length).toBeLessThan(2)
    await engine.machines.remove(id, new AbortController().signal)
  })
})
