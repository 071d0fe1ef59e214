import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { topup } from '@berth/contract/billing'
import { customImages, getBuildLog } from '@berth/contract/images'
import { cancelImageBuild, createImage, deleteImage } from '@berth/contract/own-images'
import Docker from 'dockerode'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { imageDetails } from '../../src/domains/images/images-fixture.ts'
import { eventually } from '../../src/drivers/compute/conformance/tools.ts'
import { buildMark } from '../../src/drivers/compute/docker/build-leftovers.ts'
import { CLOUD_LABEL, INSTANCE_LABEL } from '../../src/drivers/compute/docker/container-plan.ts'
import { removeCloud } from '../../src/drivers/compute/docker/docker-cloud-fixture.ts'
import { probeDocker } from '../../src/drivers/compute/docker/probe-docker.ts'
import {
  hasRealRegistry,
  makeImage,
  packOdd,
  startRegistry,
} from '../../src/drivers/compute/oci/registry-fixture.ts'
import { programsLayer } from '../../src/drivers/compute/sandbox/programs-layer-fixture.ts'
import { type Customer, signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome, type GatewayRun } from './gateway-home-fixture.ts'
import { type HeldRegistry, startHeldRegistry } from './held-registry-fixture.ts'

/**
 * Goal: whoever builds a Dockerfile may be killed with -9 at each step: the next gateway makes the image, nothing is charged
 * before it is kept, and nothing is left behind. Method: real gateways with a database of their own, a real Docker, and a real
 * registry as the store, behind something that holds requests up where the kill is to fall.
 */

const CATALOGUE = resolve(import.meta.dirname, '../../../../config/catalogue.yaml')
const SETUP_MS = 240_000
const TEST_MS = 240_000
const CENTS = 1_000
const DAY_MS = 86_400_000

const probe = await probeDocker()
const missing = probe.ok ? (hasRealRegistry ? null : 'docker-registry is not installed') : probe.why
if (missing) process.stdout.write(`SKIP killed builders of Dockerfiles: ${missing}\n`)

describe.skipIf(missing)('builders of Dockerfiles that are killed', () => {
  const docker = new Docker({ socketPath: probe.ok ? probe.socket_path : '' })
  const layers = mkdtempSync(join(tmpdir(), 'berth-kill-builder-'))
  /** The second has a layer that the engine does not have yet. */
  const bases: Awaited<ReturnType<typeof startRegistry>>[] = []
  const clouds = new Set<string>()
  let store: HeldRegistry
  let home: GatewayHome
  let run: GatewayRun
  let customer: Customer
  /** Answers of the second one that do not come. */
  const held = new Set<ServerResponse>()
  /** Images that are to leave nothing. */
  const ended: string[] = []

  beforeAll(async () => {
    const programs = { bytes: gzipSync(await programsLayer(layers), { level: 1 }), packing: '+gzip' as const }
    for (const name of ['one', 'two']) {
      const more = { bytes: packOdd([{ name, content: `${name} ${layers}` }]), packing: '' as const }
      bases.push(await startRegistry(makeImage([programs, more], { Env: ['PATH=/usr/bin:/bin'] })))
    }
    store = await startHeldRegistry()
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-builder-'))
    const catalogue = parse(readFileSync(CATALOGUE, 'utf8')) as {
      regions: { code: string; engines?: object[] }[]
    }
    for (const region of catalogue.regions)
      if (region.code === 'us-west') region.engines = [{ driver: 'docker' }]
    const file = join(folder, 'catalogue.yaml')
    writeFileSync(file, stringify(catalogue))
    home = await createGatewayHome({
      folder,
      settings: {
        BERTH_CATALOGUE: file,
        BERTH_IMAGE_STORE: store.repository,
        BERTH_SSH_PORT: '0',
        BERTH_S3_PORT: '0',
        BERTH_PRIVATE_REGISTRIES: bases.map(({ host }) => host).join(','),
      },
    })
    run = await home.start()
  }, SETUP_MS)
  beforeEach(async () => {
    if (customer) return
    customer = await signUp(home.origin)
    await customer.data(topup, topupInput(CENTS))
  }, SETUP_MS)
  afterAll(async () => {
    await home?.remove()
    for (const cloudId of clouds) await removeCloud(docker, cloudId)
    for (const { reference, close } of bases) {
      await docker
        .getImage(reference)
        .remove({ force: true })
        .catch(() => undefined)
      close()
    }
    await store?.close()
    rmSync(layers, { recursive: true, force: true })
  }, SETUP_MS)

  const begin = async (dockerfile: string) =>
    (await customer.data(createImage, { body: { ...imageDetails, dockerfile } })).id
  const image = async (id: string) => (await customer.data(customImages, {})).find(one => one.id === id)
  const settled = (id: string) =>
    eventually(async () => {
      const found = await image(id)
      expect(found?.status).not.toBe('building')
      return found
    })
  const fileOf = (base: number, steps = 'RUN echo made > /made') => `FROM ${bases[base]?.reference}\n${steps}`

  /** The container of a step that runs. */
  const step = (id: string) =>
    eventually(async () => {
      const filters = { label: [`${INSTANCE_LABEL}=${id}`] }
      const [found] = await docker.listContainers({ filters })
      clouds.add(found?.Labels[CLOUD_LABEL] ?? '')
      const { lines } = await customer.data(getBuildLog, { params: { id } })
      expect(lines).toContain('begun')
      return (await docker.getContainer(found?.Id ?? '').inspect()).State.Pid
    })

  /** All that the engine has of an image: its steps' containers, layers of the build, and itself. */
  async function onEngine(id: string): Promise<string[]> {
    const isOf = (labels: Record<string, string> | null) =>
      labels?.[INSTANCE_LABEL] === id || labels?.[buildMark.label]?.endsWith(`/${id}`) === true
    const containers = await docker.listContainers({ all: true })
    const images = await docker.listImages({ filters: { dangling: ['true'] } })
    const named = await docker.listImages()
    return [
      ...containers.filter(({ Labels }) => isOf(Labels)).flatMap(({ Names }) => Names),
      ...images.filter(({ Labels }) => isOf(Labels)).map(({ Id }) => Id),
      ...named.flatMap(({ RepoTags }) => RepoTags ?? []).filter(tag => tag.includes(id)),
    ]
  }
  /** Each: waits for its moment. What the file does besides, where it is about a step. */
  const moments: [string, { base: number; steps?: string; moment(id: string): Promise<unknown> }][] = [
    ['before it has begun', { base: 0, moment: async () => undefined }],
    [
      'while its base is pulled',
      {
        base: 1,
        moment: () =>
          new Promise<void>(reached => {
            bases[1]?.does(({ url, method }, response) => {
              if (method === 'HEAD' || !url?.includes('/blobs/')) return false
              held.add(response)
              reached()
              return true
            })
          }),
      },
    ],
    ['in a step that runs', { base: 0, steps: 'RUN echo begun; sleep 2; echo made > /made', moment: step }],
    [
      'while it is saved',
      { base: 0, moment: () => store.hold('asked', ({ method }) => method === 'POST' || method === 'HEAD') },
    ],
    [
      'while it is given to the store',
      {
        base: 0,
        moment: () =>
          store.hold('asked', ({ method, url }) => method === 'PUT' && !!url?.includes('/manifests/')),
      },
    ],
    [
      'when the store has it and the row does not know',
      {
        base: 0,
        moment: () =>
          store.hold('answered', ({ method, url }) => method === 'PUT' && !!url?.includes('/manifests/')),
      },
    ],
  ]
  test.each(moments)(
    '[R1.2] [B1] [B2] a gateway that is killed %s: the next one makes the image, once, and it costs from when it is kept',
    async (name, { base, steps, moment }) => {
      onTestFailed(() => void process.stderr.write(home.output()))
      const isAtOnce = name === 'before it has begun'
      const reached = isAtOnce ? null : { id: '', at: Promise.withResolvers<unknown>() }
      const holds = reached && !name.includes('step') ? moment('') : null
      const id = await begin(fileOf(base, steps))
      if (reached) await (holds ?? moment(id))
      await run.kill()
      bases[1]?.does(() => false)
      for (const response of held) response.destroy()
      held.clear()
      store.letGo()
      run = await home.start()
      const kept = await settled(id)
      expect(kept, home.output()).toMatchObject({ status: 'private', reason: null, progress: null })
      const perDay = BigInt(kept?.micro_per_day ?? 0)
      const keptMs = BigInt(Date.now() - Date.parse(kept?.status_since ?? ''))
      expect(BigInt(kept?.cost_micro ?? -1)).toBeLessThanOrEqual((perDay * keptMs) / BigInt(DAY_MS) + 1n)
      expect(await store.images()).toHaveLength(1)
      expect((await onEngine(id)).filter(one => !one.includes(`${id}`) || one.startsWith('/'))).toEqual([])
      await customer.data(deleteImage, { params: { id } })
      ended.push(id)
    },
    TEST_MS,
  )

  test(
    '[R1.2] [B2] [R8.1] a step that is killed ends the build: its row says why, it costs nothing, and nothing is left of it',
    async () => {
      const id = await begin(fileOf(0, 'RUN echo kept > /kept\nRUN echo begun; exec sleep 1000'))
      process.kill(await step(id), 'SIGKILL')
      const found = await settled(id)
      expect(found).toMatchObject({ status: 'failed', size: 0, micro_per_day: '0', cost_micro: '0' })
      expect(found?.reason).toMatchObject({
        code: 'step_failed',
        detail: expect.stringMatching(/137|killed/i),
      })
      ended.push(id)
      await customer.data(deleteImage, { params: { id } })
    },
    TEST_MS,
  )

  test(
    '[R1.2] [B2] what a killed gateway was building can be given up at the next one, and nothing is left of it',
    async () => {
      const id = await begin(fileOf(0, 'RUN echo kept > /kept\nRUN echo begun; exec sleep 1000'))
      await step(id)
      await run.kill()
      run = await home.start()
      await customer.data(cancelImageBuild, { params: { id } })
      expect(await image(id)).toMatchObject({
        ...{ status: 'failed', size: 0, micro_per_day: '0', cost_micro: '0' },
        reason: { code: 'build_canceled' },
      })
      ended.push(id)
      await customer.data(deleteImage, { params: { id } })
    },
    TEST_MS,
  )

  test(
    '[R1.2] [R4.8] of all that was killed, given up or deleted nothing is left, on the engine or in the store',
    async () => {
      await eventually(async () => {
        const engine = (await Promise.all(ended.map(onEngine))).flat()
        expect({ engine, store: await store.images() }).toEqual({ engine: [], store: [] })
      })
    },
    TEST_MS,
  )
})
