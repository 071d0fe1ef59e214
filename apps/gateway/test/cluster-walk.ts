import { randomBytes } from 'node:crypto'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { getReceipt, listTransactions } from '@berth/contract/billing'
import { getInstanceMetrics } from '@berth/contract/instance-metrics'
import {
  deployInstance,
  getConnection,
  getInstanceLogs,
  listInstances,
  startInstance,
  startWebTerminal,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { openTerminal } from '../src/domains/reach/reach-fixture.ts'
import { smallMachine } from '../src/drivers/compute/conformance/small-machine.ts'
import { expectCode, never } from '../src/drivers/compute/conformance/tools.ts'
import { kubectl, type TestCluster } from '../src/drivers/compute/kubernetes/cluster-fixture.ts'
import { createKubeEngine } from '../src/drivers/compute/kubernetes/kube-engine.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { offered } from '../src/drivers/compute/port/part.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const POLL = { timeout: 90_000, interval: 250 }
const PORT = 8080

/**
 * An instance in a cluster by the calls that a customer makes: the real gateway over a real control plane and a real node, with
 * the rights that a gateway is given there and no others.
 */
export function describeClusterWalk(cluster: () => TestCluster): void {
  const cloudId = `w${randomBytes(4).toString('hex')}`
  let engine: Engine
  let gateway: TestGateway

  beforeAll(async () => {
    const { place, terms, image } = cluster()
    engine = await createKubeEngine({
      place,
      terms: { ...terms, quota: { pods: 1 } },
      cloudId,
      egress: null,
      log: pino({ level: 'silent' }),
      placePatienceMs: 1_000,
    })
    const catalogue = shippedCatalogue()
    const images = catalogue.images.map(entry =>
      entry.id === 'berth-base' ? { ...entry, recipe: { ...entry.recipe, ...image.parts } } : entry,
    )
    const gpu_specs = catalogue.gpu_specs.map(spec => ({ ...spec, vcpu: 1, memory_gb: 1 }))
    gateway = await startGateway({ catalogue: { ...catalogue, images, gpu_specs }, compute: engine })
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    if (gateway) await cluster().removeCloud(cloudId)
  })

  async function customer() {
    const { userId, token } = await gateway.signUp()
    await gateway.grant(userId, 1_000)
    const list = () => gateway.data(listInstances, {}, { token })
    const becomes = (id: string, status: string) =>
      expect.poll(async () => (await list()).find(one => one.instance_id === id)?.status, POLL).toBe(status)
    return { userId, token, list, becomes }
  }

  test('[R9.5] is deployed, opened, served, measured, stopped, started with its disk, removed and billed', async () => {
    const { token, list, becomes } = await customer()
    const body = deployBody({
      image_id: 'berth-base',
      gpu_spec_id: 'h100-sxm',
      gpu_count: 1,
      http_ports: [PORT],
      tcp_ports: [],
      start_command: `echo served; echo page > ~/index.html; exec busybox httpd -f -p ${PORT} -h ~`,
    })
    const { instance_id: id } = await gateway.data(deployInstance, { body }, { token })
    await becomes(id, 'running')
    const [listed] = await list()
    expect(listed).toMatchObject({ machine: { driver: 'kubernetes' } })
    // A real GPU of the node, by its label.
    const [pod] = JSON.parse(
      await kubectl('get', 'pods', '-A', '-l', `berth.instance=${id}`, '-o', 'json'),
    ).items
    expect(pod.spec.containers[0].resources.limits).toMatchObject({
      cpu: '1',
      memory: '1Gi',
      'nvidia.com/gpu': '1',
    })
    expect(pod.spec.nodeSelector).toEqual({ 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' })
    expect(pod.spec.automountServiceAccountToken).toBe(false)

    const shell = async () => {
      const asked = { body: { instance_id: id, session: 1 } }
      const { ticket, path } = await gateway.data(startWebTerminal, asked, { token })
      return openTerminal(gateway.origin, ticket, { path })
    }
    const terminal = await shell()
    terminal.type('echo kept > ~/file; echo to""ld\n')
    await expect.poll(() => terminal.text(), POLL).toContain('told')

    const { http } = await gateway.data(getConnection, { params: { id } }, { token })
    const page = () => read(http[0]?.url ?? '', gateway.port)
    await expect.poll(page, POLL).toContain('page')
    const logs = () => gateway.data(getInstanceLogs, { params: { id } }, { token })
    await expect.poll(async () => (await logs()).text, POLL).toContain('served')
    const metrics = () =>
      gateway.data(getInstanceMetrics, { params: { id }, query: { range_seconds: 600 } }, { token })
    await expect
      .poll(
        async () => Math.max(0, ...(await metrics()).memory_used_mb.values.map(value => value ?? 0)),
        POLL,
      )
      .toBeGreaterThan(0)

    await gateway.data(stopInstance, { params: { id } }, { token })
    await becomes(id, 'stopped')
    expect(
      JSON.parse(await kubectl('get', 'pods', '-A', '-l', `berth.instance=${id}`, '-o', 'json')).items,
    ).toEqual([])
    const again = { instance_id: id, gpu_count: 1, gpu_spec_id: 'h100-sxm' }
    await gateway.data(startInstance, { body: again }, { token })
    await becomes(id, 'running')
    const second = await shell()
    second.type('cat ~/file; echo en""d\n')
    await expect.poll(() => second.text(), POLL).toContain('kept\r\nend')

    await gateway.data(terminateInstance, { params: { id } }, { token })
    await expect.poll(list, POLL).toEqual([])
    await expect.poll(() => engine.machines.list(), POLL).toEqual([])
    for (const kind of ['pods', 'secrets', 'persistentvolumeclaims']) {
      expect(
        JSON.parse(await kubectl('get', kind, '-A', '-l', `berth.instance=${id}`, '-o', 'json')).items,
      ).toEqual([])
    }
    const { items } = await gateway.data(listTransactions, { query: {} }, { token })
    const runs = items.filter(({ about }) => about.instance_id === id && about.usage === 'compute')
    const receipts = await Promise.all(
      runs.map(run => gateway.data(getReceipt, { params: { id: run.id } }, { token })),
    )
    // It ran twice, and what it went through stands on either receipt.
    expect(receipts).toHaveLength(2)
    expect(receipts.flatMap(({ events }) => events.map(({ code }) => code))).toEqual(
      expect.arrayContaining(['ready', 'stopped_by_customer', 'terminated_by_customer']),
    )
    for (const { interval } of receipts) expect(BigInt(interval?.due_micro ?? 0)).toBeGreaterThan(0n)
  }, 240_000)

  test('a pod that is lost with its node, and a quota that is reached, are told in words of their own', async () => {
    const { userId, token, becomes, list } = await customer()
    const body = deployBody({ image_id: 'berth-base', http_ports: [], tcp_ports: [] })
    const { instance_id: id } = await gateway.data(deployInstance, { body }, { token })
    await becomes(id, 'running')
    // The quota of this test is one pod of a customer.
    const spec = smallMachine('one-too-many', cluster().image, { tenant: userId })
    await engine.machines.create(spec, never)
    await expectCode(engine.machines.start(spec.id, never), 'quota_reached')
    expect(await engine.observation.status(spec.id)).toEqual({ state: 'created' })
    await engine.machines.remove(spec.id, never)
    // What runs for a moment is none of them.
    const volume = { id: 'counted', size_gb: 1, tenant: userId }
    const volumes = offered(engine.volumes)
    await volumes.make(volume)
    expect(await volumes.measure(volume.id)).toMatchObject({ used_bytes: expect.any(Number) })
    await volumes.delete(volume.id)
    await kubectl('delete', 'pods', '-A', '-l', `berth.instance=${id}`, '--grace-period=0', '--force')
    await becomes(id, 'exited')
    expect((await list()).find(({ instance_id }) => instance_id === id)?.reason).toMatchObject({
      code: 'node_lost',
    })
    await gateway.data(terminateInstance, { params: { id } }, { token })
    await expect.poll(() => engine.machines.list(), POLL).toEqual([])
    expect(await engine.observation.status(id)).toEqual({ state: 'absent' })
  }, 240_000)
}

/** Reads a page of a service, whose name leads to this computer. */
async function read(url: string, port: number): Promise<string> {
  const { host, pathname } = new URL(url)
  return new Promise((resolve, reject) => {
    const asking = get({ host: '127.0.0.1', port, path: pathname, headers: { host } }, response =>
      text(response).then(resolve, reject),
    )
    asking.on('error', reject)
  })
}
