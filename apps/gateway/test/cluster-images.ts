import { randomBytes } from 'node:crypto'
import { terminateInstance } from '@berth/contract/instances'
import { createImage } from '@berth/contract/own-images'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { imageDetails } from '../src/domains/images/images-fixture.ts'
import { describeImages } from '../src/drivers/compute/conformance/images.ts'
import { smallMachine } from '../src/drivers/compute/conformance/small-machine.ts'
import {
  eventually,
  expectCode,
  never,
  type Subject,
  text,
} from '../src/drivers/compute/conformance/tools.ts'
import { testLayer } from '../src/drivers/compute/docker/test-image.ts'
import { kubectl, type TestCluster } from '../src/drivers/compute/kubernetes/cluster-fixture.ts'
import { createKubeEngine } from '../src/drivers/compute/kubernetes/kube-engine.ts'
import type { NodeRegistry } from '../src/drivers/compute/kubernetes/node-registry.ts'
import { makeImage, startRealRegistry } from '../src/drivers/compute/oci/registry-fixture.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { offered } from '../src/drivers/compute/port/part.ts'
import { createLayoutRegistry } from '../src/drivers/image-store/registry/layout-registry.ts'
import { useHouse } from './image-house.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'

const REPOSITORY = 'berth/images'
const CONFIG = { Env: ['PATH=/usr/local/bin:/usr/bin:/bin'], Cmd: ['bash'], WorkingDir: '/root' }

/**
 * Images that are made of machines of a cluster: by its real node and a real registry, from which the node pulls them again.
 */
export function describeClusterImages(cluster: () => TestCluster): void {
  describe('[R4.6] [R9.5] images of machines of a cluster', () => {
    const image = { id: 'test', parts: {} as Record<string, unknown> }
    const made: string[] = []
    let opened: OpenedCluster
    let source: OpenedCluster['source']
    let engine: Engine

    const subject: Subject = {
      engine: () => engine,
      inside: test,
      spec: part => {
        const id = `m-${randomBytes(5).toString('hex')}`
        made.push(id)
        return smallMachine(id, image, part)
      },
      running: async part => {
        const machine = subject.spec(part)
        await engine.machines.create(machine, never)
        await engine.machines.start(machine.id, never)
        await engine.machines.begin(machine.id, never)
        return machine
      },
    }

    beforeAll(async () => {
      opened = await openWithRegistry(cluster())
      ;({ source, engine } = opened)
      image.parts.kubernetes = source.reference
      await engine.images.pull(image, () => undefined, never)
      // A node tells what images it has from time to time.
      await eventually(async () => expect(await engine.images.has(image)).toBe(true))
    }, 120_000)
    afterAll(async () => {
      for (const id of made) await engine?.machines.remove(id, never)
      await opened?.close()
    }, 120_000)

    describeImages(subject, { image, missingImage: null })

    test('what a machine changed, added and removed outside of its home is in its image, and nothing of others', async () => {
      const own = offered(engine.images.own)
      const id = `img-${randomBytes(5).toString('hex')}`
      const first = await subject.running({ env: { SECRET: 'known to the first alone' } })
      await text(
        engine,
        first.id,
        [
          'echo changed > /etc/group; echo new > /etc/new; mkdir -p /opt/tool/bin; echo tool > /opt/tool/bin/tool',
          'chmod 750 /opt/tool; ln -s /opt/tool/bin/tool /usr/bin/tool; rm /usr/bin/perl; rm -r /mnt; echo gone > /tmp/x',
          'touch -d 2001-01-01 /etc/old; printf "%s" "$SECRET" > /dev/null',
        ].join('; '),
      )
      const recipe = await own.build({ machine_id: first.id, image_id: id }, () => undefined, never)
      await engine.machines.remove(first.id, never)
      const second = await subject.running({ image: recipe })
      const seen = await text(
        engine,
        second.id,
        'cat /etc/group /etc/new /usr/bin/tool; stat -c "%a" /opt/tool; ls -d /usr/bin/perl /mnt 2>&1 | wc -l; ls /etc/old; stat -c %Y /etc/old',
      )
      expect(seen).toBe('changed\nnew\ntool\n750\n2\n/etc/old\n978307200\n')
      expect(await text(engine, second.id, 'ls -d /usr/bin/perl /mnt 2>/dev/null; echo none')).toBe('none\n')
      // Its node pulled it from the registry, by what was written down of it.
      const [pod] = JSON.parse(
        await kubectl('get', 'pods', '-A', '-l', `berth.instance=${second.id}`, '-o', 'json'),
      ).items
      const { image: pulled } = pod.spec.containers[0]
      expect(pulled).toMatch(new RegExp(`^${source.host}/${REPOSITORY}/${id}@sha256:[0-9a-f]{64}$`))
      await engine.machines.remove(second.id, never)
      await own.delete(id)
    })

    test('of a machine that was stopped none is made, since only its home is left, and its customer is told', async () => {
      const own = offered(engine.images.own)
      const machine = await subject.running()
      await engine.machines.stop(machine.id, never)
      const build = own.build({ machine_id: machine.id, image_id: 'img-stopped' }, () => undefined, never)
      await expectCode(build, 'not_running')
      expect(await own.list()).toEqual([])
      await engine.machines.remove(machine.id, never)
    })

    test('[B7] of a machine whose tar writes no archive none is made, and that is final', async () => {
      const own = offered(engine.images.own)
      const build = (machine_id: string) =>
        own.build({ machine_id, image_id: 'img-refused' }, () => undefined, never)
      const liar = await subject.running()
      const lie =
        '#!/bin/sh\\n[ "$1" != --version ] || exec /usr/local/bin/real-tar --version\\necho no archive\\n'
      const put = `cp "$(command -v tar)" /usr/local/bin/real-tar; printf '${lie}' > /usr/local/bin/tar`
      await text(engine, liar.id, `mkdir -p /usr/local/bin; ${put}; chmod 755 /usr/local/bin/tar`)
      await expectCode(build(liar.id), 'unsupported')
      expect(await own.list()).toEqual([])
    }, 180_000)

    describe('by the calls that a customer makes', () => {
      const house = useHouse(async () => {
        const { engine, source, close } = await openWithRegistry(cluster())
        const catalogue = shippedCatalogue()
        const images = catalogue.images.map(entry =>
          entry.id === 'berth-base'
            ? { ...entry, recipe: { ...entry.recipe, kubernetes: source.reference } }
            : entry,
        )
        const gpu_specs = catalogue.gpu_specs.map(spec => ({ ...spec, vcpu: 1, memory_gb: 1 }))
        return { engine, catalogue: { ...catalogue, images, gpu_specs }, end: close }
      })

      test('what an instance holds is in the image, which outlives it, and an instance is made of it', async () => {
        const { engine, store, data, becomes, running, image, own } = house()
        const ports = { http_ports: [], tcp_ports: [] }
        const first = await running(ports)
        await text(engine, first, 'mkdir -p /srv/deep; echo kept > /srv/deep/file; echo home > ~/file')
        const { id } = await data(createImage, { body: { ...imageDetails, instance_id: first } })
        await eventually(async () => expect((await image(id))?.status).toBe('private'))
        expect((await store.sizes()).images.size).toBe(1)
        await data(terminateInstance, { params: { id: first } })
        await becomes(first, undefined)
        // Out of the store, as in any other region.
        await own().delete(id)
        const second = await running({ ...ports, image_id: id })
        expect(await text(engine, second, 'cat /srv/deep/file ~/file')).toBe('kept\nhome\n')
        await data(terminateInstance, { params: { id: second } })
        await becomes(second, undefined)
      }, 240_000)
    })
  })
}

type OpenedCluster = Awaited<ReturnType<typeof openWithRegistry>>

/** An engine of a cloud of its own, with a registry that has an image for machines and takes those that are made of them. */
async function openWithRegistry(cluster: TestCluster) {
  const cloudId = `i${randomBytes(4).toString('hex')}`
  const layer = { bytes: await testLayer(['busybox', 'tar']), packing: '' as const }
  const source = await startRealRegistry(makeImage([layer], CONFIG))
  const { host } = source
  const registry: NodeRegistry = {
    ...{ host, repository: REPOSITORY, pullLogin: null, scratch_gb: 8 },
    open: repository =>
      createLayoutRegistry(
        { origin: `http://${host}`, repository, login: null },
        { bytes_max: Number.POSITIVE_INFINITY },
      ),
  }
  const engine = await createKubeEngine({
    ...{
      place: cluster.place,
      terms: cluster.terms,
      cloudId,
      egress: null,
      registry,
      placePatienceMs: 2_000,
    },
    log: pino({ level: 'silent' }),
  })
  return {
    ...{ engine, source },
    async close() {
      for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
      await engine.shutdown()
      await cluster.removeCloud(cloudId)
      await source.close()
    },
  }
}
