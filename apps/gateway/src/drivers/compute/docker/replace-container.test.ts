import { randomBytes } from 'node:crypto'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, expectCode, never, text } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { offered } from '../port/part.ts'
import { CLOUD_LABEL, createNames, IMAGE_LABEL, INSTANCE_LABEL } from './container-plan.ts'
import { removeCloud } from './docker-cloud-fixture.ts'
import { createDockerEngine } from './docker-engine.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

const log = pino({ level: 'silent' })
const probe = await probeDocker()

// What the conformance suite asks of every driver holds here, too; this is about what lies behind it: no file is
// lost when the gateway dies half way, and nothing is left over.
describeWhere('replacing containers', probe, () => {
  describe('replacing containers', () => {
    const socketPath = probe.ok ? probe.socket_path : ''
    const cloudId = `test-${randomBytes(4).toString('hex')}`
    const docker = new Docker({ socketPath })
    const names = createNames(cloudId)
    const filters = { label: [`${CLOUD_LABEL}=${cloudId}`] }
    const made: string[] = []
    let image = ''
    let engine: Engine

    beforeAll(async () => {
      image = await importTestImage(docker)
      engine = await createDockerEngine({
        place: { kind: 'unix', socket_path: socketPath },
        cloudId,
        egress: null,
        log,
        layersMax: 3,
      })
    })
    afterEach(async () => {
      for (const id of made.splice(0)) await engine.machines.remove(id, never)
      expect(await docker.listContainers({ all: true, filters })).toEqual([])
      expect(await docker.listImages({ filters })).toEqual([])
    })
    afterAll(() => removeCloud(docker, cloudId))

    /** A machine with a file in its home, stopped. */
    async function stopped(reference = image): Promise<MachineSpec> {
      const id = `t-${randomBytes(5).toString('hex')}`
      made.push(id)
      const spec = smallMachine(
        id,
        { id: 'test', parts: { docker: reference } },
        { hostname: 'host', env: { ROUND: '0' } },
      )
      await engine.machines.create(spec, never)
      await engine.machines.start(id, never)
      await text(engine, id, 'echo kept > ~/file')
      await engine.machines.stop(id, never)
      return spec
    }

    async function expectWorks(spec: MachineSpec): Promise<void> {
      await engine.machines.create(spec, never)
      await engine.machines.start(spec.id, never)
      expect(await text(engine, spec.id, 'echo $ROUND; cat ~/file')).toBe(`${spec.env.ROUND}\nkept\n`)
    }

    test('a machine that the version before labelled is found, used, changed and removed', async () => {
      const spec = await stopped()
      const { Config } = await docker.getContainer(names.container(spec.id)).inspect()
      const { [CLOUD_LABEL]: cloud, ...labels } = Config.Labels
      await docker.getContainer(names.container(spec.id)).remove()
      await docker.createContainer({
        name: names.container(spec.id),
        Image: image,
        Labels: { ...labels, 'berth.installation': cloud ?? '' },
        Cmd: ['sh', '-c', 'echo kept > ~/file'],
        HostConfig: { NetworkMode: names.network },
      })
      await docker.getContainer(names.container(spec.id)).start()
      await docker.getContainer(names.container(spec.id)).wait()
      expect(await engine.machines.list()).toEqual([{ id: spec.id, state: 'stopped' }])
      await expectWorks({ ...spec, env: { ROUND: '1' } })
      const after = await docker.getContainer(names.container(spec.id)).inspect()
      expect(after.Config.Labels[CLOUD_LABEL]).toBe(cloudId)
      await engine.machines.remove(spec.id, never)
      expect(await engine.machines.list()).toEqual([])
    })

    test('the kernel holds a machine to the processors, the memory and the number of processes that it was given', async () => {
      const spec = await stopped()
      await engine.machines.create({ ...spec, memory_mb: 200, cpu_count: 0.5 }, never)
      await engine.machines.start(spec.id, never)
      // By control groups of version 1 or 2.
      const held = await text(
        engine,
        spec.id,
        'cd /sys/fs/cgroup; cat memory/memory.limit_in_* memory.max pids/pids.max pids.max ' +
          'cpu/cpu.cfs_quota_us cpu.max 2> /dev/null; true',
      )
      expect(held.trim().split('\n')).toEqual([
        String(200 * 1024 ** 2),
        '4096',
        expect.stringMatching(/^50000( 100000)?$/),
      ])
    })

    test('a GPU that the engine cannot give is refused for good, in a sentence', async context => {
      const { Runtimes } = (await docker.info()) as { Runtimes: object }
      if ('nvidia' in Runtimes) return context.skip('this engine gives GPUs')
      const spec = await stopped()
      await engine.machines.create({ ...spec, gpu_uuids: ['GPU-1'] }, never)
      const { HostConfig } = await docker.getContainer(names.container(spec.id)).inspect()
      expect(HostConfig.DeviceRequests).toMatchObject([
        { Driver: 'nvidia', Count: 0, DeviceIDs: ['GPU-1'], Capabilities: [['gpu']] },
      ])
      const starting = engine.machines.start(spec.id, never)
      await expect(starting).rejects.toMatchObject({ code: 'unsupported' })
      await expect(starting).rejects.toThrow(/lacks the NVIDIA Container Toolkit/)
    })

    test('a container of somebody else that has a machine’s name is told, and neither taken nor removed', async () => {
      const id = `t-${randomBytes(5).toString('hex')}`
      const spec = smallMachine(id, { id: 'test', parts: { docker: image } })
      const other = await docker.createContainer({ name: names.container(id), Image: image })
      try {
        await expect(engine.machines.create(spec, never)).rejects.toMatchObject({
          code: 'name_taken',
          message: expect.stringMatching(/taken by a container that is not Berth’s/),
        })
        expect(await engine.observation.status(id)).toEqual({ state: 'absent' })
        await engine.machines.remove(id, never)
        expect((await other.inspect()).State.Status).toBe('created')
      } finally {
        await other.remove()
      }
    })

    test('other limits alone are set on the same container', async () => {
      const spec = await stopped()
      const before = await docker.getContainer(names.container(spec.id)).inspect()
      await engine.machines.create({ ...spec, memory_mb: 300, cpu_count: 0.5 }, never)
      const after = await docker.getContainer(names.container(spec.id)).inspect()
      expect(after.Id).toBe(before.Id)
      expect(after.HostConfig).toMatchObject({ Memory: 300 * 1024 * 1024, NanoCpus: 5e8 })
    })

    test('cut short before the new container was there: the machine is stopped, and the next create goes on', async () => {
      const spec = await stopped()
      await docker.getContainer(names.container(spec.id)).rename({ name: names.before(spec.id) })
      expect(await engine.observation.status(spec.id)).toMatchObject({ state: 'stopped' })
      expect(await engine.machines.list()).toEqual([{ id: spec.id, state: 'stopped' }])
      await expectWorks({ ...spec, env: { ROUND: '1' } })
    })

    test('cut short before the old container was gone: the new one counts, and the old one goes', async () => {
      const spec = await stopped()
      const { Id, Config } = await docker.getContainer(names.container(spec.id)).inspect()
      const { repo, tag } = names.saved(spec.id)
      await docker.getContainer(Id).commit({ repo, tag })
      await docker.getContainer(Id).rename({ name: names.before(spec.id) })
      const { Labels } = Config
      await docker.createContainer({ name: names.container(spec.id), Image: `${repo}:${tag}`, Labels })
      expect(await engine.machines.list()).toEqual([{ id: spec.id, state: 'created' }])
      await expectWorks({ ...spec, env: { ROUND: '1' } })
      expect(await docker.listContainers({ all: true, filters })).toHaveLength(1)
    })

    test('a spec that the engine refuses leaves the machine as it was', async () => {
      const spec = await stopped()
      await expectCode(
        engine.machines.create({ ...spec, memory_mb: 1, env: { ROUND: '1' } }, never),
        'failed',
      )
      expect(await engine.observation.status(spec.id)).toMatchObject({ state: 'stopped' })
      await engine.machines.start(spec.id, never)
      expect(await text(engine, spec.id, 'echo $ROUND; cat ~/file')).toBe('0\nkept\n')
    })

    test('an image that a killed engine had made and not named is found and removed, and then what it stood on', async () => {
      const spec = await stopped()
      await engine.machines.create({ ...spec, env: { ROUND: '1' } }, never)
      const imageId = `im-${randomBytes(4).toString('hex')}`
      const labels = `${CLOUD_LABEL}=${cloudId} ${IMAGE_LABEL}=${imageId} ${INSTANCE_LABEL}=""`
      await docker.getContainer(names.container(spec.id)).commit({ changes: `LABEL ${labels}` })
      await engine.machines.remove(spec.id, never)
      // What was saved of the machine stays below the image, so that it is removed again.
      expect((await engine.machines.list()).map(({ id }) => id)).toContain(spec.id)
      const own = offered(engine.images.own)
      expect((await own.list()).map(({ id }) => id)).toEqual([imageId])
      await own.delete(imageId)
      expect(await own.list()).toEqual([])
    })

    test('removing ends what a replacement left, at any point of it', async () => {
      const spec = await stopped()
      await engine.machines.create({ ...spec, env: { ROUND: '1' } }, never)
      await docker.getContainer(names.container(spec.id)).rename({ name: names.before(spec.id) })
      await engine.machines.remove(spec.id, never)
      expect(await engine.observation.status(spec.id)).toEqual({ state: 'absent' })

      const other = await stopped()
      await engine.machines.create({ ...other, env: { ROUND: '1' } }, never)
      await docker.getContainer(names.container(other.id)).remove()
      expect(await engine.machines.list()).toEqual([{ id: other.id, state: 'created' }])
      await engine.machines.remove(other.id, never)
      expect(await engine.machines.list()).toEqual([])
    })

    test('layers do not pile up over many replacements, and disk use is told over all of them', async () => {
      const spec = await stopped()
      await engine.machines.start(spec.id, never)
      await text(engine, spec.id, 'head -c 5000000 /dev/urandom > ~/big')
      await engine.machines.stop(spec.id, never)
      const layers: number[] = []
      for (let round = 1; round <= 5; round++) {
        await expectWorks({ ...spec, env: { ROUND: String(round) } })
        await text(engine, spec.id, 'echo $ROUND > ~/round')
        expect((await engine.observation.sample(spec.id)).disk_used_mb).toBeGreaterThan(4)
        await engine.machines.stop(spec.id, never)
        const { Image } = await docker.getContainer(names.container(spec.id)).inspect()
        layers.push((await docker.getImage(Image).inspect()).RootFS?.Layers?.length ?? 0)
      }
      expect(layers).toEqual([2, 3, 1, 2, 3])
      expect(await docker.listImages({ filters })).toHaveLength(1)
      // The image that it came from is everybody's.
      expect(await engine.images.has(spec.image)).toBe(true)
    })

    test('what an image keeps in volumes of its own goes along, and goes with the machine', async () => {
      const id = `${cloudId}-volume`
      const source = await docker.createContainer({ Image: image })
      await source.commit({ repo: 'berth-test', tag: id, changes: 'VOLUME /kept' })
      await source.remove()
      const volumes = async () => ((await docker.listVolumes()).Volumes ?? []).map(({ Name }) => Name)
      const before = await volumes()
      try {
        const spec = await stopped(`berth-test:${id}`)
        await engine.machines.start(spec.id, never)
        await text(engine, spec.id, 'echo volume > /kept/file')
        await engine.machines.stop(spec.id, never)
        for (const round of ['1', '2']) {
          await expectWorks({ ...spec, env: { ROUND: round } })
          expect(await text(engine, spec.id, 'cat /kept/file')).toBe('volume\n')
          await engine.machines.stop(spec.id, never)
        }
        await engine.machines.remove(spec.id, never)
        expect((await volumes()).filter(name => !before.includes(name))).toEqual([])
      } finally {
        await docker.getImage(`berth-test:${id}`).remove({ force: true })
      }
    })
  })
})
