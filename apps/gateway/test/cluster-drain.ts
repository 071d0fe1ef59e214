import { randomBytes } from 'node:crypto'
import { getReceipt, listTransactions } from '@berth/contract/billing'
import {
  deployInstance,
  listInstanceEvents,
  listInstances,
  terminateInstance,
} from '@berth/contract/instances'
import { listGpuSpecs } from '@berth/contract/regions'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { text } from '../src/drivers/compute/conformance/tools.ts'
import { kubectl, NODE, type TestCluster } from '../src/drivers/compute/kubernetes/cluster-fixture.ts'
import { createKubeEngine } from '../src/drivers/compute/kubernetes/kube-engine.ts'
import { addSecondNode, SECOND_NODE } from '../src/drivers/compute/kubernetes/second-node-fixture.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { createMailDesk } from '../src/drivers/mail/mail-desk.ts'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { systemClock } from '../src/platform/clock.ts'
import { systemIds } from '../src/platform/ids.ts'
import { createKeptSecrets } from '../src/platform/installation/kept-secrets.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const POLL = { timeout: 90_000, interval: 250 }
/** What others take of nodes is asked every fifteen seconds. */
const TEST_MS = 300_000

/** What becomes of instances when an operator takes one node of two out of service. */
export function describeDrain(cluster: () => TestCluster): void {
  describe('when a node is taken out of service', { timeout: TEST_MS }, () => {
    const cloudId = `d${randomBytes(4).toString('hex')}`
    let engine: Engine
    let gateway: TestGateway
    let operator: ReturnType<typeof createOperatorFixture>
    let takeAway = async () => {}

    beforeAll(async () => {
      const { place, terms, image, reference } = cluster()
      takeAway = await addSecondNode([reference])
      engine = await createKubeEngine({
        ...{ place, terms, cloudId, egress: null },
        log: pino({ level: 'silent' }),
      })
      const catalogue = shippedCatalogue()
      const images = catalogue.images.map(entry =>
        entry.id === 'berth-base' ? { ...entry, recipe: { ...entry.recipe, ...image.parts } } : entry,
      )
      const gpu_specs = catalogue.gpu_specs.map(spec => ({ ...spec, vcpu: 1, memory_gb: 1 }))
      gateway = await startGateway({ catalogue: { ...catalogue, images, gpu_specs }, compute: engine })
      operator = await operatorOf(gateway)
    }, TEST_MS)
    afterAll(async () => {
      await kubectl('uncordon', NODE)
      await gateway?.stop()
      if (gateway) await cluster().removeCloud(cloudId)
      await takeAway()
    }, TEST_MS)

    const podOf = async (id: string) =>
      JSON.parse(await kubectl('get', 'pods', '-A', '-l', `berth.instance=${id}`, '-o', 'json')).items[0] as
        | { metadata: { uid: string; namespace: string }; spec: { nodeName: string } }
        | undefined
    const stock = async () => {
      const specs = await gateway.data(listGpuSpecs, { body: { region_codes: ['us-west'] } })
      const found = specs.find(({ id }) => id === 'h100-sxm')
      return [found?.total, found?.available]
    }
    /** Says at which nodes a machine's disk can be had, as the storage of a real cluster does. */
    async function bind(id: string, nodes: string[]): Promise<void> {
      const { namespace = '' } = (await podOf(id))?.metadata ?? {}
      const volume = await kubectl(
        '-n',
        namespace,
        'get',
        'pvc',
        `m-${id}`,
        '-o',
        'jsonpath={.spec.volumeName}',
      )
      const term = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: nodes }] }
      const spec = { nodeAffinity: { required: { nodeSelectorTerms: [term] } } }
      await kubectl('patch', 'pv', volume, '--type=merge', '-p', JSON.stringify({ spec }))
    }

    test('[R9.5] its instances say so, it gives no stock, and those whose disk goes along are moved and billed for what they ran', async () => {
      const { userId, token } = await gateway.signUp()
      await gateway.grant(userId, 1_000)
      const deploy = async (part: Partial<ReturnType<typeof deployBody>>) => {
        const common = { image_id: 'berth-base', http_ports: [], tcp_ports: [], udp_ports: [] }
        const body = deployBody({ ...common, ...part })
        return (await gateway.data(deployInstance, { body }, { token })).instance_id
      }
      const seen = async (id: string) => {
        const all = await gateway.data(listInstances, {}, { token })
        const one = all.find(({ instance_id }) => instance_id === id)
        return [one?.status, one?.reason?.code ?? null]
      }
      const isSeen = (id: string, status: string, reason: string | null) =>
        expect.poll(() => seen(id), POLL).toEqual([status, reason])

      await kubectl('cordon', SECOND_NODE)
      const moving = await deploy({ name: 'moving', gpu_spec_id: 'h100-sxm', gpu_count: 1 })
      const bound = await deploy({ name: 'bound', gpu_spec_id: 'cpu', gpu_count: 1 })
      await isSeen(moving, 'running', null)
      await isSeen(bound, 'running', null)
      await text(engine, moving, 'echo kept > ~/file')
      await bind(moving, [NODE, SECOND_NODE])
      await bind(bound, [NODE])
      await kubectl('uncordon', SECOND_NODE)
      await expect.poll(stock, POLL).toEqual([16, 15])

      await kubectl('cordon', NODE)
      await isSeen(moving, 'running', 'node_draining')
      await isSeen(bound, 'running', 'node_draining_fixed')
      // What the first node has for others is not offered; what runs there is counted with what it has.
      await expect.poll(stock, POLL).toEqual([9, 8])
      // Nothing is moved by itself, nor without the name typed.
      const before = await podOf(moving)
      expect(before?.spec.nodeName).toBe(NODE)
      const dry = await operator.type('instances', 'move', 'us-west', '--dry-run')
      expect(dry).toMatchObject({ exit: 0 })
      expect(dry.out).toContain(`${moving} “moving”: is started again on another computer`)
      expect(dry.out).toContain(`${bound} “bound”: stays`)
      expect(await operator.type('instances', 'move', 'us-west')).toMatchObject({ exit: 4 })
      expect(await seen(moving)).toEqual(['running', 'node_draining'])

      const still = await podOf(bound)
      const done = await operator.type('instances', 'move', 'us-west', '--confirm', 'us-west')
      expect(done).toMatchObject({ exit: 0, out: expect.stringContaining('1 instance is being moved') })
      await isSeen(moving, 'running', null)
      const after = await podOf(moving)
      expect(after?.spec.nodeName).toBe(SECOND_NODE)
      expect(after?.metadata.uid).not.toBe(before?.metadata.uid)
      expect(await text(engine, moving, 'cat ~/file')).toBe('kept\n')
      await expect.poll(stock, POLL).toEqual([8, 7])
      expect(await seen(bound)).toEqual(['running', 'node_draining_fixed'])
      expect((await podOf(bound))?.metadata.uid).toBe(still?.metadata.uid)

      const events = await gateway.data(listInstanceEvents, { params: { id: moving } }, { token })
      const codes = events.map(({ code }) => code).reverse()
      expect(codes.slice(codes.indexOf('node_draining'))).toEqual([
        'node_draining',
        'moved_by_operator',
        'ready',
      ])
      // It is back in service after all.
      await kubectl('uncordon', NODE)
      await isSeen(bound, 'running', null)
      for (const id of [moving, bound]) await gateway.data(terminateInstance, { params: { id } }, { token })
      await expect.poll(() => gateway.data(listInstances, {}, { token }), POLL).toEqual([])
      const { items } = await gateway.data(listTransactions, { query: {} }, { token })
      const runs = items.filter(({ about }) => about.instance_id === moving && about.usage === 'compute')
      const receipts = await Promise.all(
        runs.map(run => gateway.data(getReceipt, { params: { id: run.id } }, { token })),
      )
      // Two stretches, and nothing between the end of the one and the start of the next, which is before that is ready.
      const [first, second] = receipts
        .flatMap(({ interval }) => interval ?? [])
        .sort((one, other) => one.started_at.localeCompare(other.started_at))
      const at = (code: string) => Date.parse(events.find(event => event.code === code)?.at ?? '')
      expect(Date.parse(first?.ended_at ?? '')).toBeGreaterThanOrEqual(at('moved_by_operator'))
      expect(Date.parse(first?.ended_at ?? '')).toBeLessThan(Date.parse(second?.started_at ?? ''))
      expect(Date.parse(second?.started_at ?? '')).toBeLessThanOrEqual(at('ready'))
      for (const one of [first, second]) expect(BigInt(one?.due_micro ?? 0)).toBeGreaterThan(0n)
      expect(await gateway.gateway.billing.checkBooks()).toEqual([])
    })
  })
}

async function operatorOf({ database, gateway }: TestGateway) {
  const kept = createKeptSecrets({
    ...{ db: database.db, clock: systemClock, ids: systemIds },
    log: { info: () => {}, warn: () => {} },
    masterKeys: [randomBytes(32)],
  })
  await kept.load(null)
  const { operators } = gateway.audit
  return createOperatorFixture({
    ...{ clock: systemClock, ids: systemIds },
    installation: { ...gateway, keys: kept, mails: createMailDesk({ db: database.db }) },
    config: { publicUrl: null },
    operators: { begin: entry => operators.begin({ ...entry, who: 'ops@host' }) },
  })
}
