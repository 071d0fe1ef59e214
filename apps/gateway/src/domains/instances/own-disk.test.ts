import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { computeFailure } from '../../drivers/compute/fake/fake-engine.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from './instances-fixture.ts'
import { ownVolumeId } from './own-disk.ts'
import type { InstanceRow } from './rows.ts'

// A pod's own volume, on the fake engine: made before its machine, kept whatever becomes of that, gone with the instance.

const never = new AbortController().signal

let fixture: InstancesFixture
beforeAll(async () => {
  fixture = await createInstancesFixture()
  await fixture.instances.reconciler.start()
})
beforeEach(() => fixture.compute.faults.heal())
afterAll(() => fixture.close())

const sweep = () => fixture.volumesAt(fixture.instances).run(never)
const holds = (id: string) => fixture.compute.heldVolumes.has(ownVolumeId(id))
const mounts = (id: string) => fixture.compute.held.get(id)?.spec?.volumes
const VOLUME = { pod_volume_gb: 40, pod_volume_path: '/work' }

describe('[R3.5] the volume of a pod', () => {
  test('is there before its machine, stands at its path, and stays through stop, start and restart', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, VOLUME)
    const mount = { id: ownVolumeId(id), path: '/work', read_only: false, size_gb: 40 }
    expect(mounts(id)).toEqual([mount])
    const { calls } = fixture.compute
    for (const act of ['stop', 'start', 'restart'] as const) {
      const before = calls.length
      if (act === 'start') await fixture.instances.start({ userId, instanceId: id }, startWanted())
      else await fixture.instances[act]({ userId, instanceId: id })
      await fixture.until(id, act === 'stop' ? 'stopped' : 'running')
      await sweep()
      expect(holds(id), act).toBe(true)
      expect(calls.slice(before)).not.toContain(`makeVolume ${ownVolumeId(id)}`)
      if (act !== 'stop') expect(mounts(id)).toEqual([mount])
    }
    expect(await fixture.instances.list(userId)).toMatchObject([
      {
        disks: {
          container_gb: 20,
          free_gb: 20,
          pod_volume_gb: 40,
          pod_volume_path: '/work',
          data_gb: 0,
          data_path: null,
        },
      },
    ])
    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
    expect(holds(id)).toBe(false)
    await fixture.expectSound(id)
  })

  test('[R4.7] costs by the GB beside the machine and alone while it is stopped, each on a line of its own', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, { ...VOLUME, container_disk_gb: 30 })
    fixture.clock.advance(3_600)
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    const gb = (sku: string, quantity: number, label: string) => ({
      ...{ sku, quantity, label, unit: 'gb_hour', rateMicro: 140n },
    })
    const disks = [gb('disk.container', 10, '30 GB'), gb('disk.pod_volume', 40, '40 GB')]
    expect(await fixture.intervals(id)).toMatchObject([
      { meters: [{ sku: 'compute.cpu', rateMicro: 80_000n }, ...disks], postedMicro: 80_000n + 50n * 140n },
      { meters: disks, usage: 'disk' },
    ])
    const [listed] = await fixture.instances.list(userId)
    expect(listed?.stopped_micro_per_day).toBe(String(24n * 50n * 140n))
    await fixture.expectSound(id)
  })

  test('is not deleted while its machine is there, and the instance is not gone before it is', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, VOLUME)
    const { faults, held } = fixture.compute
    faults.fail('deleteVolume', computeFailure('failed'), 2)
    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, row => row.failureCode === 'failed')
    expect(held.has(id)).toBe(false)
    expect(holds(id)).toBe(true)
    expect((await fixture.row(id)).terminatedAt).toBeNull()
    // Nothing runs any more, so nothing is charged for meanwhile.
    expect((await fixture.intervals(id)).every(({ endedAt }) => endedAt !== null)).toBe(true)
    await fixture.until(id, 'terminated', { seconds: 30 })
    expect(holds(id)).toBe(false)
  })

  test('a sweep leaves it alone at any step, and takes away what a dead gateway left of one that is gone', async () => {
    const userId = await fixture.payer()
    const { faults, heldVolumes } = fixture.compute
    const create = faults.block('create')
    const id = await fixture.deploy(userId, VOLUME)
    await create.reached
    await sweep()
    expect(holds(id)).toBe(true)
    create.release()
    await fixture.until(id, 'running')
    const remove = faults.block('deleteVolume')
    await fixture.instances.terminate({ userId, instanceId: id })
    await remove.reached
    faults.heal()
    await fixture.until(id, 'terminated', { seconds: 30 })
    // A call that was given up comes through late.
    heldVolumes.add(ownVolumeId(id))
    await sweep()
    expect(holds(id)).toBe(false)
  })

  test('that is lost is not made anew: an empty one in its place would hide that', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, VOLUME)
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    fixture.compute.heldVolumes.delete(ownVolumeId(id))
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    const failed: InstanceRow = await fixture.until(id, 'error', { seconds: 30 })
    expect(failed).toMatchObject({ reasonCode: 'start_failed' })
    expect(failed.reasonDetail).toContain('volume')
    expect(holds(id)).toBe(false)
    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
    await fixture.expectSound(id)
  })

  test('says where its engine does not hold it to its size; an instance without one says nothing of that', async () => {
    const userId = await fixture.payer()
    await fixture.running(userId)
    fixture.clock.advance(1)
    await fixture.running(userId, VOLUME)
    const notes = (await fixture.instances.list(userId)).map(({ machine }) =>
      machine?.notes.filter(({ code }) => code === 'no_own_disk_limit').map(({ detail }) => detail),
    )
    expect(notes).toEqual([['the fake engine has no disk'], []])
  })
})

describe('a deploy is refused', () => {
  const refusal = (body: Parameters<InstancesFixture['deploy']>[1]) =>
    fixture.payer().then(userId =>
      fixture.deploy(userId, body).then(
        () => null,
        error => [
          error.code,
          ...(error.fields ?? []).map((f: { path: string; rule: string }) => `${f.path} ${f.rule}`),
        ],
      ),
    )

  test('[R3.5] with a data disk on a pod, and with two volumes one of which would be inside the other', async () => {
    expect(await refusal({ data_disk_gb: 10 })).toEqual(['validation_failed', 'data_disk_gb vm_only'])
    for (const path of ['/work', '/work/data', '/']) {
      const network_volume = { id: 'v-abcdefg', path: path === '/' ? '/work' : path }
      const pod_volume_path = path === '/' ? '/work/deep' : '/work'
      expect(await refusal({ pod_volume_gb: 10, pod_volume_path, network_volume })).toEqual([
        'validation_failed',
        'pod_volume_path volume_path_clash',
      ])
    }
    expect(await refusal({ pod_volume_gb: 10, network_volume: { id: 'v-abcdefg', path: '/works' } })).toEqual(
      ['not_found'],
    )
  })

  test('where no engine of the region keeps such disks, by what the engine says of itself', async () => {
    const { compute } = fixture
    const { volumes } = compute
    Object.assign(compute, { volumes: { lacks: 'This one keeps none.' } })
    const without = await fixture.gateway()
    const fleet = fixture.fleetOf(fixture.instances)
    await vi.waitUntil(() => fleet.known(compute.id)?.facts?.volumes === null, { timeout: 30_000 })
    try {
      expect(await refusal({ pod_volume_gb: 10 })).toEqual([
        'validation_failed',
        'pod_volume_gb own_disk_not_offered',
      ])
      expect(await refusal({})).toBeNull()
    } finally {
      Object.assign(compute, { volumes })
      await without.reconciler.stop()
    }
  })
})
