import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import {
  deployInstance,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'
import { getVolumeS3, makeS3Key } from '@berth/contract/volume-s3'
import { createVolume, deleteVolume, growVolume, listVolumes } from '@berth/contract/volumes'
import Docker from 'dockerode'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { describeWhere, eventually, text } from '../src/drivers/compute/conformance/tools.ts'
import { removeCloud } from '../src/drivers/compute/docker/docker-cloud-fixture.ts'
import { createDockerEngine } from '../src/drivers/compute/docker/docker-engine.ts'
import { probeDocker } from '../src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../src/drivers/compute/docker/test-image.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { offered } from '../src/drivers/compute/port/part.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import type { Catalogue } from '../src/platform/config/catalogue.ts'
import { clientOf } from './s3-conformance.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const log = pino({ level: 'silent' })
const TEST_MS = 120_000

// Goal: what is stored on a volume outlives the instances that have it, and whoever may have it at once has the same.
// Method: the whole gateway over HTTP, with real machines of each driver that has volumes.
describeWhere('network volumes of sandboxes', await probeSandbox(), () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-volumes-'))
  describeVolumes('of sandboxes', {
    open: () => createSandboxEngine({ dataDir, log }),
    catalogue: async () => shippedCatalogue(),
    close: async () => rmSync(dataDir, { recursive: true, force: true }),
  })
})

const docker = await probeDocker()
describeWhere('network volumes of Docker', docker, () => {
  if (!docker.ok) return
  const { socket_path } = docker
  const cloudId = `netvol-${randomBytes(4).toString('hex')}`
  const daemon = new Docker({ socketPath: socket_path })
  describeVolumes('of Docker', {
    open: () => createDockerEngine({ place: { kind: 'unix', socket_path }, cloudId, egress: null, log }),
    async catalogue() {
      const reference = await importTestImage(daemon)
      const shipped = shippedCatalogue()
      const images = shipped.images.map(image => ({
        ...image,
        recipe: { ...image.recipe, docker: reference },
      }))
      return { ...shipped, images }
    },
    close: () => removeCloud(daemon, cloudId),
  })
})

function describeVolumes(
  name: string,
  host: { open(): Promise<Engine>; catalogue(): Promise<Catalogue>; close(): Promise<void> },
): void {
  describe(`network volumes ${name}`, () => {
    let engine: Engine
    let gateway: TestGateway
    let token: string
    beforeAll(async () => {
      engine = await host.open()
      gateway = await startGateway({ compute: engine, catalogue: await host.catalogue(), s3Port: 0 })
      const customer = await gateway.signUp()
      token = customer.token
      await gateway.grant(customer.userId, 100_000)
    }, TEST_MS)
    afterAll(async () => {
      for (const { id } of await engine.machines.list()) {
        await engine.machines.stop(id, new AbortController().signal, { at_once: true })
        await engine.machines.remove(id, new AbortController().signal)
      }
      const store = offered(engine.volumes)
      for (const id of await store.list()) await store.delete(id)
      await gateway?.stop()
      await engine?.shutdown()
      await host.close()
    }, TEST_MS)

    const statusOf = async (id: string) =>
      (await gateway.data(listInstances, {}, { token })).find(({ instance_id }) => instance_id === id)?.status
    const becomes = (id: string, status: string | undefined) =>
      eventually(async () => expect(await statusOf(id)).toBe(status))
    const deploy = (volume: string, path: string) =>
      gateway.call(
        deployInstance,
        {
          body: deployBody({
            name: `m-${randomBytes(3).toString('hex')}`,
            network_volume: { id: volume, path },
          }),
        },
        { token },
      )
    async function running(volume: string, path: string): Promise<string> {
      const { envelope } = await deploy(volume, path)
      if (envelope.status !== 'ok') throw new Error(envelope.code)
      await becomes(envelope.data.instance_id, 'running')
      return envelope.data.instance_id
    }
    async function end(id: string): Promise<void> {
      await gateway.data(terminateInstance, { params: { id } }, { token })
      await becomes(id, undefined)
    }
    async function made(size_gb = 1) {
      const body = { name: `v-${randomBytes(3).toString('hex')}`, region_code: 'us-west', size_gb }
      const { id } = await gateway.data(createVolume, { body }, { token })
      return await eventually(async () => {
        const found = (await gateway.data(listVolumes, { query: {} }, { token })).find(one => one.id === id)
        expect(found?.status).toBe('ready')
        if (!found) throw new Error('it is not listed')
        return found
      })
    }

    test(
      '[R1.2] [R2.25] what is written outlives a stop and the instance, another instance has it, and then it can be deleted',
      async () => {
        const volume = await made()
        const first = await running(volume.id, '/data')
        await text(engine, first, 'mkdir -p /data/deep; echo kept > /data/deep/file')
        await gateway.data(stopInstance, { params: { id: first } }, { token })
        await becomes(first, 'stopped')
        // Detached and attached elsewhere in the same instance, which keeps its home.
        const which = { params: { id: volume.id } }
        await gateway.data(detachVolume, { ...which, body: { instance_id: first } }, { token })
        const elsewhere = { instance_id: first, path: '/mnt/elsewhere' }
        await gateway.data(attachVolume, { ...which, body: elsewhere }, { token })
        await gateway.data(
          startInstance,
          { body: { instance_id: first, gpu_count: 1, gpu_spec_id: 'cpu' } },
          { token },
        )
        await becomes(first, 'running')
        expect(await text(engine, first, 'cat /mnt/elsewhere/deep/file; ls /data 2>/dev/null || true')).toBe(
          'kept\n',
        )
        await end(first)
        const { id, name } = volume
        await gateway.data(growVolume, { params: { id }, body: { size_gb: 2 } }, { token })
        const second = await running(id, '/mnt/models')
        expect(await text(engine, second, 'cat /mnt/models/deep/file')).toBe('kept\n')
        const held = await gateway.call(deleteVolume, { params: { id }, query: { name } }, { token })
        expect(held.envelope).toMatchObject({ code: 'volume_attached' })
        // Detached from one that stays, it can be deleted, too.
        await gateway.data(stopInstance, { params: { id: second } }, { token })
        await becomes(second, 'stopped')
        await gateway.data(detachVolume, { params: { id }, body: { instance_id: second } }, { token })
        await gateway.data(deleteVolume, { params: { id }, query: { name } }, { token })
        await eventually(async () => {
          expect(
            (await gateway.data(listVolumes, { query: {} }, { token })).map(one => one.id),
          ).not.toContain(id)
          expect(await offered(engine.volumes).list()).not.toContain(id)
        })
        expect(await statusOf(second)).toBe('stopped')
        await end(second)
      },
      TEST_MS,
    )

    test(
      '[R3.5] a pod’s own volume keeps what it holds through a stop and a restart, and goes with the instance',
      async () => {
        const body = deployBody({ name: 'own', pod_volume_gb: 1, pod_volume_path: '/work' })
        const { instance_id: id } = await gateway.data(deployInstance, { body }, { token })
        await becomes(id, 'running')
        await text(engine, id, 'mkdir -p /work/deep; echo kept > /work/deep/file')
        await gateway.data(restartInstance, { params: { id } }, { token })
        await becomes(id, 'restarting')
        await becomes(id, 'running')
        expect(await text(engine, id, 'cat /work/deep/file')).toBe('kept\n')
        await gateway.data(stopInstance, { params: { id } }, { token })
        await becomes(id, 'stopped')
        // Whoever looks for volumes that are nobody's finds none.
        await gateway.gateway.volumes.run(new AbortController().signal)
        const again = { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' }
        await gateway.data(startInstance, { body: again }, { token })
        await becomes(id, 'running')
        expect(await text(engine, id, 'cat /work/deep/file')).toBe('kept\n')
        expect(await offered(engine.volumes).list()).toContain(`${id}-disk`)
        await end(id)
        expect(await offered(engine.volumes).list()).not.toContain(`${id}-disk`)
      },
      TEST_MS,
    )

    test(
      '[R1.2] [R3.11] two instances at once and S3 have the same files, or the second is refused with the name of the first',
      async () => {
        const { id, shared } = await made()
        const first = await running(id, '/data')
        await text(engine, first, 'echo from the first > /data/one')
        if (!shared) {
          const { name } = (await gateway.data(listInstances, {}, { token })).find(
            ({ instance_id }) => instance_id === first,
          ) ?? { name: '' }
          expect((await deploy(id, '/data')).envelope).toMatchObject({
            code: 'volume_in_use',
            msg: expect.stringContaining(name),
          })
          await gateway.data(stopInstance, { params: { id: first } }, { token })
          await becomes(first, 'stopped')
        }
        const second = await running(id, '/data')
        expect(await text(engine, second, 'cat /data/one')).toBe('from the first\n')
        await text(engine, second, 'echo from the second > /data/two')
        if (shared) expect(await text(engine, first, 'cat /data/two')).toBe('from the second\n')
        else {
          const body = { instance_id: first, gpu_count: 1, gpu_spec_id: 'cpu' }
          expect((await gateway.call(startInstance, { body }, { token })).envelope).toMatchObject({
            code: 'volume_in_use',
          })
        }
        await shareByS3(id, second)
        await end(second)
        await end(first)
      },
      TEST_MS,
    )

    /** What a machine has written is an object, and what is put is a file that the machine may change. */
    async function shareByS3(id: string, machine: string): Promise<void> {
      const params = { id }
      const facts = await gateway.data(getVolumeS3, { params }, { token })
      expect(facts).toMatchObject({ state: 'served', detail: '' })
      const key = await gateway.data(makeS3Key, { params, body: { access: 'read_write' } }, { token })
      const s3 = clientOf({
        ...facts,
        endpoint: facts.endpoint ?? '',
        accessKeyId: key.access_key_id,
        secretAccessKey: key.secret_access_key,
      })
      const Bucket = facts.bucket
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }))
      expect(Contents.map(({ Key }) => Key)).toEqual(['one', 'two'])
      await s3.send(new PutObjectCommand({ Bucket, Key: 'deep/three', Body: 'by S3\n' }))
      expect(await text(engine, machine, 'echo changed >> /data/deep/three; cat /data/deep/three')).toBe(
        'by S3\nchanged\n',
      )
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'deep/three' }))
      expect(await Body?.transformToString()).toBe('by S3\nchanged\n')
    }
  })
}
