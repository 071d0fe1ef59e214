import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { officialImages } from '@berth/contract/images'
import {
  deployInstance,
  getPrice,
  listInstances,
  startInstance,
  startWebTerminal,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { createVolume } from '@berth/contract/volumes'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { openTerminal } from '../src/domains/reach/reach-fixture.ts'
import { describeWhere } from '../src/drivers/compute/conformance/tools.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { echoDisk } from '../src/drivers/compute/qemu/guest-fixture.ts'
import { findHypervisor } from '../src/drivers/compute/qemu/probe-qemu.ts'
import { createQemuEngine } from '../src/drivers/compute/qemu/qemu-engine.ts'
import { loadCatalogue } from '../src/platform/config/catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const CATALOGUE = resolve(import.meta.dirname, '../../../config/catalogue.yaml')
const POLL = { timeout: 60_000 }

// Goal: an instance of kind VM by the calls that a customer makes. Method: the real gateway over real QEMU, and a guest
// of one sector that says back on its serial line what it hears.
describeWhere('an instance that is a virtual machine', await findHypervisor(), () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-vm-'))
  let engine: Engine
  let gateway: TestGateway

  beforeAll(async () => {
    const file = join(folder, 'echo.raw')
    writeFileSync(file, echoDisk())
    const catalogue = loadCatalogue(CATALOGUE)
    const [plain] = catalogue.images
    if (!plain) throw new Error('the catalogue has no image')
    const own = { ...plain, id: 'echo', kind: 'VM' as const, recipe: { qemu: { file } } }
    const log = pino({ level: 'silent' })
    engine = await createQemuEngine({ dataDir: join(folder, 'machines'), log, stopGraceMs: 100 })
    gateway = await startGateway({
      catalogue: { ...catalogue, images: [...catalogue.images, own] },
      compute: engine,
    })
  }, 60_000)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('[R1.1] [R3.5] [R9.5] is deployed, opened, stopped, started and removed; what is no VM is not made of it', async () => {
    const { userId, token } = await gateway.signUp()
    await gateway.grant(userId, 1_000)
    const disks = { container_disk_gb: 30, data_disk_gb: 4 }
    const body = deployBody({ kind: 'VM', image_id: 'echo', http_ports: [], tcp_ports: [], ...disks })
    const offered = await gateway.data(officialImages, {})
    expect(offered.filter(({ available }) => available)).toMatchObject([{ id: 'echo', kind: 'VM' }])
    const codeOf = async (part: Partial<typeof body>) =>
      (await gateway.call(deployInstance, { body: { ...body, ...part } }, { token })).envelope
    expect(await codeOf({ kind: 'POD', data_disk_gb: null })).toMatchObject({
      fields: [{ path: 'kind', rule: 'not_allowed' }],
    })
    expect(await codeOf({ image_id: 'berth-base' })).toMatchObject({
      fields: [{ path: 'image_id', rule: 'not_allowed' }],
    })
    expect(await codeOf({ pod_volume_gb: 5 })).toMatchObject({
      fields: [{ path: 'pod_volume_gb', rule: 'pod_only' }],
    })
    const { region_code, gpu_spec_id } = body
    const query = { kind: 'VM' as const, region_code, gpu_spec_id, gpu_count: 1, ...disks }
    const { lines } = await gateway.data(getPrice, { query }, { token })
    expect(lines).toMatchObject([
      { key: 'cpu' },
      { key: 'disk', quantity: 10, of: 30, rate_micro_per_hour: '1400' },
      { key: 'data_disk', quantity: 4, of: 4, rate_micro_per_hour: '560' },
    ])
    // Pods have network volumes: of this engine none is made.
    const volume = { name: 'none', region_code, size_gb: 1 }
    expect((await gateway.call(createVolume, { body: volume }, { token })).envelope).toMatchObject({
      code: 'volumes_not_offered',
    })

    const { instance_id: id } = await gateway.data(deployInstance, { body }, { token })
    const list = () => gateway.data(listInstances, {}, { token })
    const becomes = (status: string) =>
      expect.poll(async () => (await list()).map(one => one.status), POLL).toEqual([status])
    await becomes('running')
    const [listed] = await list()
    expect(listed).toMatchObject({
      kind: 'VM',
      machine: { driver: 'qemu' },
      disks: {
        container_gb: 0,
        system_gb: 30,
        free_gb: 20,
        data_gb: 4,
        data_path: '/data',
        pod_volume_gb: 0,
      },
      stopped_micro_per_day: String(24 * (1_400 + 560)),
    })
    expect(listed?.machine?.notes.map(({ code }) => code)).not.toContain('no_own_disk_limit')
    const disk = join(folder, 'machines/volumes', `${id}-disk`, 'disk')
    expect(statSync(disk).size).toBe(4 * 1024 ** 3)
    const { ticket, path } = await gateway.data(
      startWebTerminal,
      { body: { instance_id: id, session: 0 } },
      { token },
    )
    const terminal = await openTerminal(gateway.origin, ticket, { path })
    await expect
      .poll(() => {
        terminal.type('o')
        return terminal.text()
      }, POLL)
      .toContain('o')

    await gateway.data(stopInstance, { params: { id } }, { token })
    await becomes('stopped')
    expect(terminal.frames.at(-1)).toMatchObject({ kind: 'exit', reason: 'instance_stopped' })
    expect(existsSync(disk)).toBe(true)
    const again = { instance_id: id, gpu_count: 1, gpu_spec_id }
    await gateway.data(startInstance, { body: again }, { token })
    await becomes('running')
    await gateway.data(terminateInstance, { params: { id } }, { token })
    await expect.poll(list, POLL).toEqual([])
    expect(await engine.machines.list()).toEqual([])
    expect(existsSync(disk)).toBe(false)
  }, 120_000)
})
