import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallInput } from '@berth/contract/call'
import {
  checkResource,
  deployInstance,
  getPrice,
  listInstances,
  startInstance,
  stopInstance,
} from '@berth/contract/instances'
import { listModels } from '@berth/contract/models'
import { createImage } from '@berth/contract/own-images'
import { listGpuSpecs, listRegions } from '@berth/contract/regions'
import { createVolume } from '@berth/contract/volumes'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GatewayParts } from '../src/compose.ts'
import { imageDetails } from '../src/domains/images/images-fixture.ts'
import { createFakeEngine, type FakeEngine } from '../src/drivers/compute/fake/fake-engine.ts'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { systemClock } from '../src/platform/clock.ts'
import { type Config, readConfig } from '../src/platform/config/config.ts'
import { systemIds } from '../src/platform/ids.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

// Goal: what an operator applies is what all gateways sell by, at once and whole, and nobody pays another price than the one
// that they were told. Method: two gateways on one database, by their HTTP API, and the commands as they are typed.

let first: TestGateway
let second: TestGateway
let compute: FakeEngine
let folder: string
let config: Config
let operator: ReturnType<typeof createOperatorFixture>
let token: string
/** What ships. */
let shipped: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-apply-'))
  config = readConfig({})
  shipped = readFileSync(config.catalogueFile, 'utf8')
  compute = createFakeEngine({ clock: systemClock })
  first = await startGateway({ compute })
  second = await another()
  const { operators } = first.gateway.audit
  operator = createOperatorFixture({
    ...{ clock: systemClock, ids: systemIds, config },
    installation: first.gateway,
    operators: { begin: entry => operators.begin({ ...entry, who: 'ops@host' }) },
  })
  const customer = await first.signUp()
  token = customer.token
  await first.grant(customer.userId, 10_000)
})
afterAll(async () => {
  await second.stop()
  await first.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** One more gateway on the same database and engine. */
const another = (parts: Partial<GatewayParts> = {}) =>
  startGateway({ compute, database: { ...first.database, close: async () => {} }, ...parts })

/** A file with what ships, some texts of which are others. */
function fileWith(...others: [text: string, other: string][]): string {
  const file = join(folder, 'next.yaml')
  let text = shipped
  for (const [one, other] of others) {
    expect(text).toContain(one)
    text = text.replace(one, other)
  }
  writeFileSync(file, text)
  return file
}

const both = () => [first, second]

/** The price of a CPU machine in us-west, and how many there are, as each gateway says it. */
const offered = (gateways = both()) =>
  Promise.all(
    gateways.map(async gateway => {
      const specs = await gateway.data(listGpuSpecs, { body: { region_codes: ['us-west'] } }, { token })
      const cpu = specs.find(({ id }) => id === 'cpu')
      return cpu && [cpu.price_micro_per_hour, cpu.total]
    }),
  )

const deployOf = (
  name: string,
  more: Partial<CallInput<typeof deployInstance>['body']> = {},
): CallInput<typeof deployInstance> => ({
  body: {
    ...{ name, region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1 },
    ...{ image_id: 'berth-base', container_disk_gb: 20 },
    ...more,
  },
})

test('[R6.5] two gateways sell by what is applied without a restart, and what runs keeps its rate', async () => {
  await first.data(deployInstance, deployOf('old'), { token })
  const rates = async () => {
    const mine = await second.data(listInstances, {}, { token })
    return Object.fromEntries(mine.map(({ name, running_micro_per_hour }) => [name, running_micro_per_hour]))
  }
  expect(await rates()).toEqual({ old: '80000' })
  const file = fileWith(
    ['price_per_hour: "0.08"', 'price_per_hour: "0.11"'],
    ['stock: { us-west: 40,', 'stock: { us-west: 41,'],
    ['en: São Paulo', 'en: Sampa'],
  )
  const before = await offered()
  expect(before).toEqual([
    ['80000', 40],
    ['80000', 40],
  ])
  const dry = await operator.type('catalogue', 'apply', file, '--dry-run')
  expect(dry).toMatchObject({
    exit: 0,
    out: expect.stringContaining('~ GPU cpu  price_per_hour: $0.08 → $0.11'),
  })
  expect(await offered()).toEqual(before)

  const done = await operator.type('catalogue', 'apply', file)
  expect(done).toMatchObject({ exit: 0, out: expect.stringContaining('2 of 2 gateways go by it.') })
  expect(done.out).toContain(`Gateways that start go by ${config.catalogueFile}`)
  expect(await offered()).toEqual([
    ['110000', 41],
    ['110000', 41],
  ])
  for (const gateway of both()) {
    const { items } = await gateway.data(listRegions, { query: {} }, { token })
    expect(items.map(({ name }) => name)).toContain('Sampa')
  }
  await second.data(deployInstance, deployOf('new'), { token })
  expect(await rates()).toEqual({ old: '80000', new: '110000' })
  const [last] = (await operator.json('log', 'list', '--last', '1')) as object[]
  expect(last).toMatchObject({ command: 'catalogue apply', outcome: 'done', target: file })
})

test('[R6.5] whoever saw another price pays that one or is refused, at whichever gateway', async () => {
  const cycle = 'weekly'
  const { terms } = await first.data(
    getPrice,
    {
      query: {
        ...{ region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 20, kind: 'POD' },
        ...{ billing_type: 'prepay', charge_cycle: cycle, public_ip: 'shared' },
      },
    },
    { token },
  )
  const seen = terms.find(({ charge_cycle }) => charge_cycle === cycle)?.price_micro ?? ''
  expect(
    (
      await operator.type(
        'catalogue',
        'apply',
        fileWith(['price_per_hour: "0.08"', 'price_per_hour: "0.12"']),
      )
    ).exit,
  ).toBe(0)
  const asked = deployOf('term', { billing_type: 'prepay', charge_cycle: cycle, price_micro: seen })
  for (const gateway of both()) {
    const { envelope } = await gateway.call(deployInstance, asked, { token })
    expect(envelope).toMatchObject({ status: 'error', code: 'price_changed' })
  }
})

test('[R6.5] models are called at their new price, one that is new is there, and one that is gone is not', async () => {
  const file = fileWith(
    ['price_input_million: "0.10"\n    price_cached', 'price_input_million: "0.20"\n    price_cached'],
    ['id: berth/demo-vision', 'id: berth/demo-other'],
  )
  expect(await operator.type('catalogue', 'apply', file)).toMatchObject({
    ...{ exit: 4, err: expect.stringContaining('- model berth/demo-vision') },
  })
  expect((await operator.type('catalogue', 'apply', file, '--confirm', 'next.yaml')).exit).toBe(0)
  for (const gateway of both()) {
    const models = await gateway.data(listModels, {}, { token })
    expect(models.find(({ id }) => id === 'berth/demo-chat')?.input_micro_per_million).toBe('200000')
    const ids = models.map(({ id }) => id)
    expect(ids).toContain('berth/demo-other')
    expect(ids).not.toContain('berth/demo-vision')
  }
})

test('[R6.5] a closed region is let to nobody from then on; to close it its file is named', async () => {
  const open = 'code: us-west\n    name: us-west\n    enabled: '
  const file = fileWith([`${open}true`, `${open}false`])
  expect((await operator.type('catalogue', 'apply', file)).exit).toBe(4)
  expect(await operator.type('instances', 'evacuate', 'us-west', '--dry-run')).toMatchObject({ exit: 1 })
  expect((await operator.type('catalogue', 'apply', file, '--yes')).exit).toBe(0)
  for (const gateway of both()) {
    const { envelope } = await gateway.call(deployInstance, deployOf('late'), { token })
    expect(envelope).toMatchObject({ status: 'error', code: 'region_not_supported' })
  }
  // What evacuates looks at what gateways go by, whatever stands in the file here.
  expect(await operator.type('instances', 'evacuate', 'us-west', '--dry-run')).toMatchObject({ exit: 0 })
  expect((await operator.type('catalogue', 'apply')).exit).toBe(0)
  expect((await operator.type('catalogue', 'diff')).out).toBe('Nothing differs.\n')
})

test('[R6.5] what gateways take at a start alone, and what is wrong, is refused as a whole', async () => {
  const before = await offered()
  const ips = fileWith(
    ['price_per_hour: "0.08"', 'price_per_hour: "0.99"'],
    ['public_ips: [127.0.0.13]', 'public_ips: [127.0.0.14]'],
  )
  const refused = await operator.type('catalogue', 'apply', ips)
  expect(refused).toMatchObject({ exit: 1, out: '' })
  expect(refused.err).toContain('~ region eu-frankfurt  public_ips: ')
  expect(refused.err).not.toContain('price_per_hour')
  const wrong = await operator.type(
    ...['catalogue', 'apply', fileWith(['price_per_hour: "0.08"', 'price_per_hour: "much"'])],
  )
  expect(wrong).toMatchObject({ exit: 1, err: expect.stringMatching(/next\.yaml:\d+: gpu_specs\.0/) })
  // It is good by itself, but the key of its server is not in the gateways' environment.
  const vision = '    name: { en: Demo vision'
  const keyless = fileWith(
    ['price_per_hour: "0.08"', 'price_per_hour: "0.99"'],
    [vision, `    servers: [{ driver: openai, url: "http://127.0.0.1:9", key_env: NOBODYS_KEY }]\n${vision}`],
  )
  const untaken = await operator.type('catalogue', 'apply', keyless)
  expect(untaken).toMatchObject({ exit: 1, out: expect.stringContaining('0 of 2 gateways go by it.') })
  expect(untaken.out).toContain('NOBODYS_KEY, which is not set')
  expect(await offered()).toEqual(before)
  expect((await operator.type('catalogue', 'apply')).exit).toBe(0)
})

test('[R6.5] a gateway takes nothing of a catalogue that wants a restart, though it was written past the command', async () => {
  const before = await offered()
  const { catalogues } = first.gateway
  const file = fileWith(
    ['price_per_hour: "0.08"', 'price_per_hour: "0.99"'],
    ['public_ips: [127.0.0.13]', 'public_ips: [127.0.0.14]'],
  )
  const version = await catalogues.apply(readFileSync(file, 'utf8'))
  await expect
    .poll(async () => (await catalogues.gateways()).map(gateway => gateway.version), { timeout: 20_000 })
    .toEqual([version, version])
  for (const { trouble, source } of await catalogues.gateways()) {
    expect(trouble).toMatch(/wants a restart: ~ region eu-frankfurt {2}public_ips: /)
    expect(source).not.toContain('0.99')
  }
  expect(await offered()).toEqual(before)
  // It stands in the way of nothing that comes after it.
  expect(await operator.type('catalogue', 'apply')).toMatchObject({ exit: 0 })
  expect((await catalogues.gateways()).map(({ trouble }) => trouble)).toEqual([null, null])
})

test('[R6.5] a gateway that starts goes by its file, says in its log that another was applied, and takes the next', async () => {
  const file = fileWith(['price_per_hour: "0.08"', 'price_per_hour: "0.13"'])
  expect((await operator.type('catalogue', 'apply', file)).exit).toBe(0)
  const said: string[] = []
  const third = await another({
    log: pino(
      { level: 'warn' },
      { write: line => void said.push((JSON.parse(line) as { msg: string }).msg) },
    ),
  })
  try {
    expect(await offered([first, third])).toMatchObject([
      ['130000', 40],
      ['80000', 40],
    ])
    expect(said).toContainEqual(expect.stringContaining('`catalogue diff` says what differs'))
    const diff = await operator.type('catalogue', 'diff')
    expect(diff).toMatchObject({ exit: 1, out: '~ GPU cpu  price_per_hour: $0.13 → $0.08\n' })
    const done = await operator.type('catalogue', 'apply', file)
    expect(done.out).toContain('3 of 3 gateways go by it.')
    expect(await offered([third])).toMatchObject([['130000', 40]])
  } finally {
    await third.stop()
  }
})

test('[R6.5] nothing new is placed in a region that drains, whatever is applied, and what runs there goes on', async () => {
  const isOpen = async () => {
    const lists = both().map(gateway => gateway.data(listRegions, { query: {} }, { token }))
    return (await Promise.all(lists)).map(
      ({ items }) => items.find(({ code }) => code === 'us-west')?.enabled,
    )
  }
  expect(await operator.type('regions drain nowhere')).toMatchObject({ exit: 3 })
  expect((await operator.type('regions drain us-west --dry-run')).exit).toBe(0)
  expect(await isOpen()).toEqual([true, true])
  expect(await operator.type('regions drain us-west')).toMatchObject({
    ...{ exit: 0, out: 'us-west drains: 2 of 2 gateways go by it.\n' },
  })
  expect(await isOpen()).toEqual([false, false])
  // An apply that has it open does not open it, nor does a gateway that starts.
  const file = fileWith(['price_per_hour: "0.08"', 'price_per_hour: "0.14"'])
  expect((await operator.type('catalogue', 'apply', file)).exit).toBe(0)
  expect(await isOpen()).toEqual([false, false])
  const third = await another()
  for (const gateway of [...both(), third]) {
    const { envelope } = await gateway.call(deployInstance, deployOf('drained'), { token })
    expect(envelope).toMatchObject({ status: 'error', code: 'region_draining' })
  }
  // Neither a volume nor an image, and the form says so before anybody sends it.
  const volume = { name: 'late', region_code: 'us-west', size_gb: 10 }
  const image = { ...imageDetails, image_reference: 'debian:12' }
  for (const answer of [
    await second.call(createVolume, { body: volume }, { token }),
    await second.call(createImage, { body: image }, { token }),
  ])
    expect(answer.envelope).toMatchObject({
      ...{ code: 'region_draining', fields: [{ path: 'region_code', rule: 'not_allowed' }] },
    })
  const { name, ...wanted } = deployOf('late').body
  const { checks } = await second.data(checkResource, { body: wanted }, { token })
  expect(checks.filter(({ ok }) => !ok)).toContainEqual(expect.objectContaining({ code: 'region_draining' }))
  const own = await first.data(listInstances, {}, { token })
  const stopped = own.find(({ name }) => name === 'new')?.instance_id ?? ''
  await first.data(stopInstance, { params: { id: stopped } }, { token })
  const isStopped = async () => {
    const mine = await first.data(listInstances, {}, { token })
    return mine.find(({ instance_id }) => instance_id === stopped)?.status
  }
  await expect.poll(isStopped, { timeout: 20_000 }).toBe('stopped')
  const again = await third.call(
    startInstance,
    { body: { instance_id: stopped, gpu_count: 1, gpu_spec_id: 'cpu' } },
    { token },
  )
  expect(again.envelope).toMatchObject({ status: 'error', code: 'region_draining' })
  await third.stop()
  const mine = await first.data(listInstances, {}, { token })
  expect(mine.find(({ name }) => name === 'old')?.status).toBe('running')
  expect(await operator.type('instances', 'evacuate', 'us-west', '--dry-run')).toMatchObject({ exit: 0 })
  const [listed] = (await operator.json('regions', 'list')) as object[]
  expect(listed).toMatchObject({
    code: 'us-west',
    enabled: true,
    drains_since: expect.any(String),
    instances: 2,
  })

  expect((await operator.type('regions undrain us-west')).out).toContain('2 of 2 gateways')
  expect(await isOpen()).toEqual([true, true])
  await second.data(deployInstance, deployOf('again'), { token })
})
