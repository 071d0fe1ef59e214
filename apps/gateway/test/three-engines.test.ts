import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { officialImagesIn } from '@berth/contract/images'
import { deployInstance, listInstances, terminateInstance } from '@berth/contract/instances'
import Docker from 'dockerode'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FleetSource } from '../src/domains/fleet/fleet.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { startDockerd, type TestDaemon } from '../src/drivers/compute/docker/dockerd-fixture.ts'
import { probeDocker } from '../src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../src/drivers/compute/docker/test-image.ts'
import { type EngineDescription, engineDescriptionSchema } from '../src/drivers/compute/engine-description.ts'
import { createEngineSource } from '../src/drivers/compute/engine-source.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/** Real daemons on a computer that does other work, too. */
const TEST_MS = 180_000
const RUNNING_MS = 90_000

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
    const catalogue = shippedCatalogue()
    const images = catalogue.images.map(entry =>
      entry.id === 'berth-base' ? { ...entry, recipe: { ...entry.recipe, docker: image } } : entry,
    )
    const remote = {
      driver: 'docker',
      url: second.url,
      ...second.files,
      publish_address: '127.0.0.1',
    } as const
    gateway = await startGateway({
      catalogue: { ...catalogue, images },
      engines: [
        source({ driver: 'docker' }, 'us-west'),
        source(remote, 'eu-frankfurt'),
        source({ driver: 'sandbox' }, 'ap-singapore'),
      ],
    })
  }, TEST_MS)
  afterAll(async () => {
    await gateway?.stop()
    for (const engine of [local, second.docker]) {
      await engine
        .getNetwork(`berth-${cloudId}`)
        .remove()
        .catch(() => {})
    }
    await second.remove()
    rmSync(folder, { recursive: true, force: true })
  }, TEST_MS)

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
})
