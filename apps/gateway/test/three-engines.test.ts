import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { officialImagesIn } from '@berth/contract/images'
import { followInstances } from '@berth/contract/instance-follow'
import {
  deployInstance,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import Docker from 'dockerode'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FleetSource } from '../src/domains/fleet/fleet.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { removeCloud } from '../src/drivers/compute/docker/docker-cloud-fixture.ts'
import { startDockerd, type TestDaemon } from '../src/drivers/compute/docker/dockerd-fixture.ts'
import { probeDocker } from '../src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../src/drivers/compute/docker/test-image.ts'
import { type EngineDescription, engineDescriptionSchema } from '../src/drivers/compute/engine-description.ts'
import { createEngineSource } from '../src/drivers/compute/engine-source.ts'
import { digestOf, makeImage, packOdd, startRegistry } from '../src/drivers/compute/oci/registry-fixture.ts'
import { createRegistryAccess } from '../src/drivers/compute/registry-access.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { followCall } from './follow-call.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/** Real daemons on a computer that does other work, too. */
const TEST_MS = 180_000
const RUNNING_MS = 90_000
const LAYER_BYTES = 200_000
const PASSWORD = 'open sesame'
/** More than a machine may be out of sight before that is said. */
const OUT_OF_SIGHT_MS = 60_000

const [docker, sandbox] = await Promise.all([probeDocker(), probeSandbox()])
const daemon = docker.ok && sandbox.ok ? await startDockerd() : null
const missing = !docker.ok
  ? docker.why
  : !sandbox.ok
    ? sandbox.why
    : daemon && 'why' in daemon
      ? daemon.why
      : null
if (missing !== null) process.stdout.write(`SKIP two Docker daemons and a sandbox: ${missing}\n`)

// Goal: several drivers, and several engines of one driver, under one gateway. Method: three regions with a real
// engine each, and the calls that a customer makes.
describe.skipIf(missing !== null)('two Docker daemons and a sandbox in three regions of one gateway', () => {
  const cloudId = `test-${randomBytes(4).toString('hex')}`
  const folder = mkdtempSync(join(tmpdir(), 'berth-three-'))
  const second = daemon as TestDaemon
  const local = new Docker({ socketPath: docker.ok ? docker.socket_path : '' })
  let gateway: TestGateway
  /** The gateway's clock is ahead of this computer's. */
  let aheadMs = 0
  /** It gives `t/image:1` to a login, and has nothing else; the other gives nothing to anybody. */
  let registry: Awaited<ReturnType<typeof startRegistry>>
  let stranger: typeof registry
  /** The rest of a layer waits for that. */
  const seen = Promise.withResolvers<void>()

  function source(described: EngineDescription, regionCode: string): FleetSource {
    const deps = {
      cloudId,
      sandboxDir: folder,
      baseDir: second.dir,
      egress: null,
      log: pino({ level: 'silent' }),
    }
    return {
      ...createEngineSource(engineDescriptionSchema.parse(described), deps),
      regionCodes: [regionCode],
      formerId: () => null,
    }
  }

  beforeAll(async () => {
    const image = await importTestImage(local)
    expect(await importTestImage(second.docker)).toBe(image)
    const pulled = await startRegistries()
    const catalogue = shippedCatalogue()
    const images = catalogue.images.flatMap(entry =>
      entry.id === 'berth-base'
        ? [
            { ...entry, recipe: { ...entry.recipe, docker: image } },
            ...pulled.map(({ id, recipe }) => ({ ...entry, id, recipe })),
          ]
        : [entry],
    )
    const remote = {
      driver: 'docker',
      url: second.url,
      ...second.files,
      publish_address: '127.0.0.1',
    } as const
    writeFileSync(join(folder, 'password'), `${PASSWORD}\n`)
    const login = { host: registry.host, username: 'me', password_file: 'password' }
    gateway = await startGateway({
      clock: { now: () => new Date(Date.now() + aheadMs) },
      catalogue: { ...catalogue, images },
      registryAccess: createRegistryAccess([login], folder),
      engines: [
        source({ driver: 'docker' }, 'us-west'),
        source(remote, 'eu-frankfurt'),
        source({ driver: 'sandbox' }, 'ap-singapore'),
      ],
    })
  }, TEST_MS)
  afterAll(async () => {
    await gateway?.stop()
    for (const engine of [local, second.docker]) await removeCloud(engine, cloudId)
    for (const { RepoTags } of await local.listImages()) {
      const pulled = RepoTags?.find(name => name.startsWith(`${registry.host}/`))
      if (pulled) await local.getImage(pulled).remove()
    }
    for (const { close } of [registry, stranger]) close()
    await second.remove()
    rmSync(folder, { recursive: true, force: true })
  }, TEST_MS)

  /** @returns What is made of images that lie there. */
  async function startRegistries() {
    const layer = packOdd([{ name: 'big', content: randomBytes(LAYER_BYTES) }])
    registry = await startRegistry(makeImage([{ bytes: layer, packing: '' }]))
    stranger = await startRegistry(makeImage([]))
    const refuse = (response: ServerResponse) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="here"' }).end('{}')
      return true
    }
    stranger.does((_request, response) => refuse(response))
    registry.does(({ url = '', headers }, response) => {
      if (headers.authorization !== `Basic ${Buffer.from(`me:${PASSWORD}`).toString('base64')}`) {
        return refuse(response)
      }
      if (url === '/v2/') response.end('{}')
      else if (url.endsWith(digestOf(layer))) {
        response.write(layer.subarray(0, LAYER_BYTES / 2))
        seen.promise.then(() => response.end(layer.subarray(LAYER_BYTES / 2)))
      } else return false
      return true
    })
    const missing = `${registry.host}/t/image:none`
    const secret = `${stranger.host}/t/image:1`
    return [
      { id: 'pulled', recipe: { sandbox: { image: registry.reference } } },
      { id: 'missing', recipe: { sandbox: { image: missing }, docker: missing } },
      { id: 'secret', recipe: { sandbox: { image: secret }, docker: secret } },
    ]
  }

  const containers = async (engine: Docker) => {
    const label = `berth.cloud=${cloudId}`
    return (await engine.listContainers({ all: true, filters: { label: [label] } })).length
  }

  test(
    '[B14] each makes its own machines, says what it is, and offers the images that it can make',
    async () => {
      const { userId, token } = await gateway.signUp()
      await gateway.grant(userId, 1_000)
      const ids: string[] = []
      for (const region_code of ['us-west', 'eu-frankfurt', 'ap-singapore']) {
        const body = deployBody({ region_code, http_ports: [], tcp_ports: [] })
        ids.push((await gateway.data(deployInstance, { body }, { token })).instance_id)
      }
      const list = () => gateway.data(listInstances, {}, { token })
      await expect
        .poll(async () => (await list()).map(({ status, reason }) => [status, reason]), {
          timeout: RUNNING_MS,
        })
        .toEqual(ids.map(() => ['running', null]))
      const drivers = new Map((await list()).map(one => [one.region_code, one.machine?.driver]))
      expect(Object.fromEntries(drivers)).toEqual({
        'us-west': 'docker',
        'eu-frankfurt': 'docker',
        'ap-singapore': 'sandbox',
      })
      expect([await containers(local), await containers(second.docker)]).toEqual([1, 1])

      const vllm = async (region: string) =>
        (await gateway.data(officialImagesIn, { params: { region } })).find(({ id }) => id === 'vllm')
      expect(await vllm('eu-frankfurt')).toMatchObject({ available: true, unavailable_reason: null })
      expect(await vllm('ap-singapore')).toMatchObject({
        available: false,
        unavailable_reason: 'not_on_engine',
      })

      for (const id of ids) await gateway.data(terminateInstance, { params: { id } }, { token })
      await expect.poll(list, { timeout: RUNNING_MS }).toEqual([])
      expect([await containers(local), await containers(second.docker)]).toEqual([0, 0])
    },
    TEST_MS,
  )

  test(
    '[R4.4] [B6] creating, restarting, stopping, deleting and unknown, with why, are listed and told for as long as an engine takes',
    async () => {
      const { userId, token } = await gateway.signUp()
      await gateway.grant(userId, 1_000)
      const told: string[] = []
      const followed = await followCall(gateway.origin, followInstances, { token }, ({ instances, gone }) => {
        told.push(...instances.map(({ status }) => status), ...gone)
      })
      const list = () => gateway.data(listInstances, {}, { token })
      const one = async () => (await list())[0]
      const becomes = (status: string) =>
        expect.poll(async () => (await one())?.status, { timeout: RUNNING_MS }).toBe(status)
      /** What a customer asks for while the engine says nothing shows what is under way, in a list and as it is told. */
      async function whileSilent(status: string, ask: () => Promise<unknown>): Promise<void> {
        const pid = Number(readFileSync(join(second.dir, 'pid'), 'utf8'))
        process.kill(pid, 'SIGSTOP')
        try {
          await ask()
          expect(await one()).toMatchObject({ status, reason: null })
          await expect.poll(() => told, { timeout: RUNNING_MS }).toContain(status)
        } finally {
          process.kill(pid, 'SIGCONT')
        }
      }

      const body = deployBody({ region_code: 'eu-frankfurt', http_ports: [], tcp_ports: [] })
      let id = ''
      await whileSilent('creating', async () => {
        id = (await gateway.data(deployInstance, { body }, { token })).instance_id
      })
      const asked = { params: { id } }
      await becomes('running')
      await whileSilent('restarting', () => gateway.data(restartInstance, asked, { token }))
      await becomes('running')
      await whileSilent('stopping', () => gateway.data(stopInstance, asked, { token }))
      await becomes('stopped')
      const again = { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' }
      await gateway.data(startInstance, { body: again }, { token })
      await becomes('running')

      // The engine is away, and no other gateway reaches it.
      await second.kill()
      await expect.poll(() => told.at(-1), { timeout: RUNNING_MS }).toBe('running')
      aheadMs += OUT_OF_SIGHT_MS
      await becomes('unknown')
      expect((await one())?.reason).toEqual({ code: 'engine_away', detail: '' })
      await expect.poll(() => told, { timeout: RUNNING_MS }).toContain('unknown')
      // Nobody can say that it runs, so it costs nothing.
      const cost = (await one())?.cost_micro
      aheadMs += 3_600_000
      expect((await one())?.cost_micro).toBe(cost)
      await second.start()
      // Its engine ended it when it came back.
      await becomes('exited')

      await whileSilent('deleting', () => gateway.data(terminateInstance, asked, { token }))
      await expect.poll(list, { timeout: RUNNING_MS }).toEqual([])
      await expect.poll(() => told, { timeout: RUNNING_MS }).toContain(id)
      followed.leave()
      expect(await gateway.gateway.billing.checkBooks()).toEqual([])
      expect(await containers(second.docker)).toBe(0)
    },
    TEST_MS,
  )

  test(
    '[R4.4] [B6] an image is pulled from its registry before the customer’s eyes, and one that cannot be says why',
    async () => {
      const { userId, token } = await gateway.signUp()
      await gateway.grant(userId, 1_000)
      const list = () => gateway.data(listInstances, {}, { token })
      const of = async (id: string) => (await list()).find(({ instance_id }) => instance_id === id)
      const deploy = async (image_id: string, region_code: string) => {
        const body = deployBody({ image_id, region_code, http_ports: [], tcp_ports: [] })
        return (await gateway.data(deployInstance, { body }, { token })).instance_id
      }
      const pulled = await deploy('pulled', 'ap-singapore')
      await expect
        .poll(() => of(pulled), { timeout: RUNNING_MS })
        .toMatchObject({
          status: 'pulling',
          progress: { step: 'pulling', bytes_done: expect.any(Number), bytes_total: expect.any(Number) },
        })
      seen.resolve()
      await expect.poll(async () => (await of(pulled))?.status, { timeout: RUNNING_MS }).toBe('running')

      for (const [image, region, code, words] of [
        ['missing', 'ap-singapore', 'image_not_found', 'the registry has no such image'],
        ['missing', 'us-west', 'image_not_found', 'manifest unknown'],
        ['secret', 'ap-singapore', 'image_needs_login', 'does not give the image to everybody'],
        ['secret', 'us-west', 'image_needs_login', 'no basic auth credentials'],
      ] as const) {
        const id = await deploy(image, region)
        await expect.poll(async () => (await of(id))?.status, { timeout: RUNNING_MS }).toBe('error')
        const reason = (await of(id))?.reason
        expect(reason).toEqual({ code, detail: expect.stringContaining(words) })
        expect(JSON.stringify(reason)).not.toContain(PASSWORD)
      }
      for (const { instance_id: id } of await list()) {
        await gateway.data(terminateInstance, { params: { id } }, { token })
      }
      await expect.poll(list, { timeout: RUNNING_MS }).toEqual([])
    },
    TEST_MS,
  )
})
