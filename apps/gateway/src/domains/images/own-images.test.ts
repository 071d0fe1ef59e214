import { randomUUID } from 'node:crypto'
import { deleteAccount } from '@berth/contract/account-security'
import { customImages, getImage } from '@berth/contract/images'
import { getInstance } from '@berth/contract/instance-page'
import {
  deployInstance,
  editInstance,
  listInstanceEvents,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { IMAGE_REPORTS_MAX, IMAGES_PER_USER_MAX, UNPAID_IMAGE_KEPT_DAYS } from '@berth/contract/limits'
import {
  cancelImageBuild,
  cancelPublishing,
  createImage,
  deleteImage,
  editImage,
  makeImagePrivate,
  publishImage,
  reportImage,
  starImage,
  unstarImage,
} from '@berth/contract/own-images'
import { eq, inArray, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type CallAnswer, startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { createTestImageStore } from '../../../test/test-image-store.ts'
import { computeFailure, createFakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import { makeLayout, pieces } from '../../drivers/image-store/conformance/layouts.ts'
import { deployBody } from '../instances/instances-fixture.ts'
import { communityCopy, heldForNothing, imageDetails, keptImage } from './images-fixture.ts'
import { communityImage, ownImage } from './tables.ts'

const DAY_MS = 86_400_000
const WAIT = { timeout: 30_000 }
const never = new AbortController().signal
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
const compute = createFakeEngine({ clock })
const { store, remove: removeStore } = createTestImageStore()
/** Comes when the store has kept an image, before whoever put it hears of that. */
let afterPut = async () => {}
const slowStore = {
  ...store,
  put: async (...given: Parameters<typeof store.put>) => {
    const kept = await store.put(...given)
    await afterPut()
    return kept
  },
}
let gateway: TestGateway
const start = async () => {
  gateway = await startGateway({ clock, compute, imageStore: slowStore })
}
beforeAll(start)
beforeEach(() => compute.faults.heal())
afterAll(async () => {
  compute.faults.heal()
  await gateway.stop()
  await removeStore()
})

type Customer = Awaited<ReturnType<TestGateway['signUp']>>

async function someone(cents = 10_000): Promise<Customer> {
  const customer = await gateway.signUp()
  if (cents > 0) await gateway.grant(customer.userId, cents)
  return customer
}
const deploy = async (customer: Customer, change = {}) => {
  const { instance_id } = await gateway.data(deployInstance, { body: deployBody(change) }, customer)
  return instance_id
}
const shown = (customer: Customer, id: string) => gateway.data(getInstance, { params: { id } }, customer)
const inStatus = (customer: Customer, id: string, status: string) =>
  vi.waitUntil(async () => (await shown(customer, id)).status === status, WAIT)
const running = async (customer: Customer, change = {}) => {
  const id = await deploy(customer, change)
  await inStatus(customer, id, 'running')
  return id
}
const ask = (customer: Customer, change: object, idempotencyKey: string = randomUUID()) =>
  gateway.call(
    createImage,
    { body: { ...imageDetails, ...change } },
    { token: customer.token, idempotencyKey },
  )
const make = (customer: Customer, change: object) =>
  gateway.data(createImage, { body: { ...imageDetails, ...change } }, customer)
const list = (customer: Customer) => gateway.data(customImages, {}, customer)
const of = async (customer: Customer, id: string) => (await list(customer)).find(one => one.id === id) ?? null
const untilImage = async (customer: Customer, id: string, status: string | null) => {
  await vi.waitUntil(async () => ((await of(customer, id))?.status ?? null) === status, WAIT)
  return of(customer, id)
}
/** An image that is kept, and the instance that it was made of. */
async function kept(customer: Customer, change = {}) {
  const instance = await running(customer)
  const { id } = await make(customer, { instance_id: instance, ...change })
  await untilImage(customer, id, 'private')
  return { id, instance }
}
type ById = typeof publishImage | typeof cancelPublishing | typeof cancelImageBuild | typeof starImage
const on = (call: ById, customer: Customer, id: string): Promise<CallAnswer<unknown>> =>
  gateway.call(call as typeof publishImage, { params: { id } }, customer)
const refusal = ({ envelope }: Pick<CallAnswer<unknown>, 'envelope'>) => {
  if (envelope.status !== 'error') throw new Error('it was not refused')
  const [field] = envelope.fields ?? []
  return field ? `${field.path} ${field.rule}` : envelope.code
}
const sound = async () => {
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
  expect(await heldForNothing(gateway.database.db)).toEqual([])
}
const ownOnEngine = async () => {
  const { own } = compute.images
  if (!('list' in own)) throw new Error('it makes no images')
  return (await own.list()).map(({ id }) => id)
}
const deployRefusal = (who: Customer, imageId: string, change = {}) =>
  gateway.call(deployInstance, { body: deployBody({ image_id: imageId, ...change }) }, who).then(refusal)
/** Approves an image as it is now. */
async function approve(id: string) {
  const { review } = gateway.gateway.images
  return review.approve(id, (await review.show(id)).seen)
}

async function news({ userId }: Customer): Promise<string[]> {
  const { rows } = await gateway.database.db.execute<{ news: string }>(
    sql`select data->'payload'->>'news' as news from pgboss.job
      where name = 'event' and data->>'event' = 'image.news' and data->>'listener' = 'notifications' and data->'payload'->>'userId' = ${userId}
      order by created_on`,
  )
  return rows.map(row => row.news)
}

describe('made of an instance', () => {
  test('[R4.4] [R4.6] [R9.6] it shows imageBuilding and goes on, then the image is kept by its real bytes and costs by the GB and day', async () => {
    const customer = await someone()
    const instance = await running(customer)
    const { release } = compute.faults.block('buildImage')
    const { id, status, micro_per_day } = await make(customer, { instance_id: instance })
    expect({ status, micro_per_day }).toEqual({ status: 'building', micro_per_day: '0' })
    expect((await shown(customer, instance)).status).toBe('imageBuilding')
    expect(refusal(await gateway.call(stopInstance, { params: { id: instance } }, customer))).toBe(
      'instance_state',
    )
    expect(refusal(await ask(customer, { instance_id: instance }))).toBe('instance_state')
    // It runs all the while.
    expect(compute.held.get(instance)?.status.state).toBe('running')
    release()
    const done = await untilImage(customer, id, 'private')
    expect((await shown(customer, instance)).status).toBe('running')
    const { images } = await store.sizes()
    expect([...images.values()].map(({ size_bytes }) => size_bytes).length).toBeGreaterThan(0)
    expect(done).toMatchObject({ size: 1, micro_per_day: '1700', progress: null, reason: null, instances: 0 })
    expect(done?.source).toMatchObject({ instance_id: instance, image_reference: null })
    const events = await gateway.data(listInstanceEvents, { params: { id: instance } }, customer)
    expect(events.map(({ code }) => code).slice(0, 2)).toEqual(['image_made', 'image_begun'])
    aheadMs += 2 * DAY_MS
    expect((await of(customer, id))?.cost_micro).toBe('3400')
    await sound()
  })

  test('[R4.6] an instance that has stopped is refused with the words of its kind, and another customer’s is not there', async () => {
    const customer = await someone()
    const instance = await running(customer)
    await gateway.data(stopInstance, { params: { id: instance } }, customer)
    await inStatus(customer, instance, 'stopped')
    const refused = await ask(customer, { instance_id: instance })
    expect(refused.envelope).toMatchObject({
      code: 'create_image_pod',
      msg: expect.stringMatching(/start the POD first/i),
    })
    expect(refusal(await ask(await someone(), { instance_id: instance }))).toBe('not_found')
  })

  test('[B3] the same key makes one image', async () => {
    const customer = await someone()
    const instance = await running(customer)
    const key = randomUUID()
    const [first, second] = await Promise.all([1, 2].map(() => ask(customer, { instance_id: instance }, key)))
    expect(first?.envelope).toMatchObject({ status: 'ok' })
    const again = await ask(customer, { instance_id: instance }, key)
    expect(again.envelope).toMatchObject({ status: 'ok' })
    expect(second).toBeDefined()
    expect(await list(customer)).toHaveLength(1)
  })

  test('[B3] what a gateway has begun that died before it answered is begun once', async () => {
    const customer = await someone()
    const body = createImage.body.parse({ ...imageDetails, instance_id: await running(customer) })
    const call = { userId: customer.userId, idempotencyKey: randomUUID(), body }
    const { images } = gateway.gateway
    const { id } = await images.create(call)
    expect((await images.create(call)).id).toBe(id)
    await untilImage(customer, id, 'private')
    expect((await images.create(call)).id).toBe(id)
    expect(await list(customer)).toHaveLength(1)
  })

  test('what fails leaves nothing behind, says why, is told by mail and costs nothing', async () => {
    const customer = await someone()
    const instance = await running(customer)
    compute.faults.fail('saveImage', computeFailure('no_room'))
    const { id } = await make(customer, { instance_id: instance })
    const failed = await untilImage(customer, id, 'failed')
    expect(failed).toMatchObject({
      reason: { code: 'no_room' },
      size: 0,
      micro_per_day: '0',
      cost_micro: '0',
    })
    expect((await shown(customer, instance)).status).toBe('running')
    await vi.waitUntil(async () => !(await ownOnEngine()).includes(id), WAIT)
    expect(await news(customer)).toEqual(['build_failed'])
    await sound()
  })

  test('given up, it keeps what was said of it and nothing else; its instance is free again', async () => {
    const customer = await someone()
    const instance = await running(customer)
    compute.faults.block('buildImage')
    const { id } = await make(customer, { instance_id: instance })
    await vi.waitUntil(async () => (await of(customer, id))?.progress !== null, WAIT)
    expect(await on(cancelImageBuild, customer, id)).toMatchObject({ httpStatus: 200 })
    expect(await of(customer, id)).toMatchObject({
      status: 'failed',
      reason: { code: 'build_canceled' },
      name: imageDetails.name,
    })
    expect((await shown(customer, instance)).status).toBe('running')
    compute.faults.heal()
    expect(refusal(await on(cancelImageBuild, customer, id))).toBe('image_state')
    await gateway.data(editInstance, { body: { instance_id: instance, name: 'again' } }, customer)
    await sound()
  })

  test('one that takes too long fails and says so; its instance is free again', async () => {
    const customer = await someone()
    const instance = await running(customer)
    const { reached } = compute.faults.block('buildImage')
    const { id } = await make(customer, { instance_id: instance })
    await reached
    aheadMs += 5 * 3_600_000
    const failed = await untilImage(customer, id, 'failed')
    expect(failed?.reason).toEqual({ code: 'build_failed', detail: 'it took more than 4 hours' })
    await inStatus(customer, instance, 'running')
    compute.faults.heal()
    await sound()
  })

  test('who has many made at once holds up nobody else', async () => {
    const [busy, other] = [await someone(), await someone()]
    const instances = await Promise.all([1, 2, 3, 4].map(() => running(busy)))
    const machine = await running(other)
    compute.faults.block('saveImage')
    for (const instance_id of instances) await make(busy, { instance_id })
    const { id } = await make(other, { instance_id: machine })
    await vi.waitUntil(async () => (await of(other, id))?.progress?.step === 'saving', WAIT)
    const begun = (await list(busy)).filter(({ progress }) => progress?.step === 'saving')
    expect(begun).toHaveLength(2)
    compute.faults.heal()
    for (const one of await list(busy)) await untilImage(busy, one.id, 'private')
  })

  test.each([
    ['given up', cancelImageBuild],
    ['deleted', deleteImage],
  ] as const)('%s in the moment in which it was kept, it goes from the store', async (_, call) => {
    const customer = await someone()
    const instance = await running(customer)
    const before = [...(await store.sizes()).images.keys()]
    const put = Promise.withResolvers<void>()
    const told = Promise.withResolvers<void>()
    afterPut = async () => {
      put.resolve()
      await told.promise
    }
    const { id } = await make(customer, { instance_id: instance })
    await put.promise
    afterPut = async () => {}
    const now = [...(await store.sizes()).images.keys()]
    expect(now).toHaveLength(before.length + 1)
    // Whoever dies now has it written down.
    const [row] = await gateway.database.db.select().from(ownImage).where(eq(ownImage.id, id))
    expect(now.filter(digest => !before.includes(digest))).toEqual([row?.digest])
    await gateway.data(call as typeof deleteImage, { params: { id } }, customer)
    await gateway.gateway.images.run(never)
    told.resolve()
    await vi.waitUntil(async () => {
      await gateway.gateway.images.run(never)
      return (await store.sizes()).images.size === before.length
    }, WAIT)
    expect([...(await store.sizes()).images.keys()]).toEqual(before)
    await vi.waitUntil(async () => !(await ownOnEngine()).includes(id), WAIT)
    await sound()
  })

  test('[B1] what a gateway was making that died is gone on with as soon as that is known, not when its lease is over', async () => {
    const customer = await someone()
    const instance = await running(customer)
    const dead = randomUUID()
    const row = keptImage(customer.userId, {
      status: 'building',
      engineId: compute.id,
      sourceInstanceId: instance,
      leaseOwner: dead,
      leaseUntil: new Date(clock.now().getTime() + DAY_MS),
    })
    await gateway.database.db.insert(ownImage).values(row)
    const { images } = gateway.gateway
    const owner = async () => {
      const [found] = await gateway.database.db.select().from(ownImage).where(eq(ownImage.id, row.id))
      return found?.leaseOwner
    }
    await images.run(never)
    expect(await owner()).toBe(dead)
    await images.forgetGateway(randomUUID())
    await images.run(never)
    expect(await owner()).toBe(dead)
    await images.forgetGateway(dead)
    await images.run(never)
    await untilImage(customer, row.id, 'private')
    await sound()
  })

  test('what an earlier try had kept of other bytes goes when a later one keeps its own', async () => {
    const customer = await someone()
    const instance = await running(customer)
    const before = (await store.sizes()).images.size
    const { archive } = await makeLayout(Buffer.from(randomUUID()))
    const { digest } = await store.put(pieces(archive), never)
    const row = keptImage(customer.userId, {
      status: 'building',
      engineId: compute.id,
      sourceInstanceId: instance,
      digest,
    })
    await gateway.database.db.insert(ownImage).values(row)
    await gateway.gateway.images.run(never)
    await untilImage(customer, row.id, 'private')
    const { images } = await store.sizes()
    expect([images.size, images.has(digest)]).toEqual([before + 1, false])
    await sound()
  })

  test('one that is terminated meanwhile ends it', async () => {
    const customer = await someone()
    const instance = await running(customer)
    compute.faults.fail('buildImage', computeFailure('failed'))
    const { id } = await make(customer, { instance_id: instance })
    await gateway.data(terminateInstance, { params: { id: instance } }, customer)
    await vi.waitUntil(() => !compute.held.has(instance), WAIT)
    compute.faults.heal()
    aheadMs += 60_000
    const failed = await untilImage(customer, id, 'failed')
    expect(failed?.reason?.code).toBe('instance_gone')
  })
})

describe('what is asked for', () => {
  test('[R5.5] each field has its rule, and nothing is made', async () => {
    const customer = await someone()
    const body = { instance_id: 'i-zzzzzzz' }
    const rules: [object, string][] = [
      [{ name: 'a' }, 'name too_short'],
      [{ name: 'a'.repeat(101) }, 'name too_long'],
      [{ description: ' ' }, 'description required'],
      [{ description: 'a'.repeat(1_001) }, 'description too_long'],
      [{ tags: [] }, 'tags required'],
      [{ tags: ['base', 'base'] }, 'tags duplicate'],
      [{ readme: '' }, 'readme required'],
      [{ readme: 'a'.repeat(20_001) }, 'readme too_long'],
      [{ version_info: 'a'.repeat(501) }, 'version_info too_long'],
      [{ start_command: 'a'.repeat(501) }, 'start_command too_long'],
      [{ preloaded_models: 'a'.repeat(501) }, 'preloaded_models too_long'],
      [{ http_ports: [0] }, 'http_ports.0 port_range'],
      [{ http_ports: [80, 80] }, 'http_ports port_duplicate'],
      [{ tcp_ports: [22, 22] }, 'tcp_ports port_duplicate'],
      [{ tcp_ports: Array.from({ length: 11 }, (_, index) => index + 1) }, 'tcp_ports ports_max'],
      [{ region_code: 'nowhere' }, 'region_code not_allowed'],
      [{ min_vram_gb: -1 }, 'min_vram_gb too_small'],
    ]
    for (const [change, rule] of rules)
      expect(refusal(await ask(customer, { ...body, ...change }))).toBe(rule)
    expect(refusal(await ask(customer, {}))).toBe('instance_id required')
    expect(refusal(await ask(customer, { ...body, image_reference: 'alpine' }))).toBe(
      'image_reference not_allowed',
    )
    expect(refusal(await ask(customer, { image_reference: 'alpine', kind: 'VM' }))).toBe('kind not_allowed')
    const instance = await running(customer)
    expect(refusal(await ask(customer, { instance_id: instance, kind: 'VM' }))).toBe('kind not_allowed')
    expect(await list(customer)).toEqual([])
  })

  test('a customer has so many images and no more, and needs money for the first day', async () => {
    const customer = await someone()
    const instance = await running(customer)
    const rows = Array.from({ length: IMAGES_PER_USER_MAX }, () => keptImage(customer.userId))
    await gateway.database.db.insert(ownImage).values(rows)
    expect(refusal(await ask(customer, { instance_id: instance }))).toBe('image_limit')
    expect((await shown(customer, instance)).status).toBe('running')
  })
})

describe('[R4.8] private, review, community', () => {
  test('[R6.5] what is said of an image is changed while its region takes nothing new', async () => {
    const { catalogues } = gateway.gateway
    const customer = await someone()
    const { id } = await kept(customer)
    const drains = (is: boolean) => vi.waitUntil(() => catalogues.isDraining('us-west') === is, WAIT)
    await catalogues.drain('us-west')
    try {
      await drains(true)
      const body = { id, ...imageDetails, readme: 'Something else.' }
      expect(await gateway.data(editImage, { body }, customer)).toMatchObject({ id })
      const elsewhere = { ...body, region_code: 'sa-east' }
      expect(await gateway.call(editImage, { body: elsewhere }, customer)).toMatchObject({
        envelope: { code: 'region_not_supported' },
      })
    } finally {
      await catalogues.undrain('us-west')
      await drains(false)
    }
  })

  test('[R6.5] what was changed after its reviewer looked at it is not approved', async () => {
    const { review } = gateway.gateway.images
    const customer = await someone()
    const { id } = await kept(customer)
    await gateway.data(publishImage, { params: { id } }, customer)
    const { seen } = await review.show(id)
    const edited = { id, ...imageDetails, readme: 'Something else.' }
    expect(await gateway.data(editImage, { body: edited }, customer)).toMatchObject({ status: 'review' })
    await expect(review.approve(id, seen)).rejects.toThrow('image_changed')
    expect(await of(customer, id)).toMatchObject({ status: 'review', community_image_id: null })
    // Neither taking it back nor sending it again makes another image of it.
    await gateway.data(cancelPublishing, { params: { id } }, customer)
    await gateway.data(publishImage, { params: { id } }, customer)
    await expect(review.approve(id, seen)).rejects.toThrow('image_changed')
    expect(await approve(id)).toMatchObject({ status: 'community', readme: 'Something else.' })
  })

  test('published it is reviewed, approved it is the community’s by the same bytes, and outlives what it was made from', async () => {
    const { review } = gateway.gateway.images
    const customer = await someone()
    const { id } = await kept(customer)
    const before = (await store.sizes()).bytes
    const sent = await gateway.data(publishImage, { params: { id } }, customer)
    expect(sent).toMatchObject({
      status: 'review',
      version: 1,
      review_by: expect.any(String),
      community_image_id: null,
    })
    expect(refusal(await on(publishImage, customer, id))).toBe('image_state')
    expect((await review.queue()).map(one => one.id)).toContain(id)
    await approve(id)
    const published = await of(customer, id)
    expect(published).toMatchObject({ status: 'community', review_by: null })
    const copy = published?.community_image_id ?? ''
    expect((await store.sizes()).bytes).toBe(before)
    expect(await gateway.data(getImage, { params: { id: copy } })).toMatchObject({
      type: 'Community',
      author: 'Test',
      name: imageDetails.name,
      versions: [{ number: 1 }],
    })
    // A new version is reviewed, and the old one stays meanwhile.
    const edited = { id, ...imageDetails, name: 'Harbour tools 2' }
    expect(await gateway.data(editImage, { body: edited }, customer)).toMatchObject({
      status: 'review',
      version: 2,
    })
    expect(await gateway.data(getImage, { params: { id: copy } })).toMatchObject({ name: imageDetails.name })
    await approve(id)
    expect(await gateway.data(getImage, { params: { id: copy } })).toMatchObject({
      name: 'Harbour tools 2',
      versions: [{ number: 2 }, { number: 1 }],
    })
    expect(await news(customer)).toEqual(['in_review', 'published', 'in_review', 'published'])
    // The original goes; the copy is there, with all its bytes.
    await gateway.data(deleteImage, { params: { id } }, customer)
    await untilImage(customer, id, null)
    expect((await store.sizes()).bytes).toBe(before)
    const other = await someone()
    const instance = await running(other, { image_id: copy })
    expect(await shown(other, instance)).toMatchObject({ image_name: 'Harbour tools 2' })
    expect(await gateway.data(getImage, { params: { id: copy } })).toMatchObject({ deploys: 1 })
    await running(other, { image_id: copy })
    await running(customer, { image_id: copy })
    expect(await gateway.data(getImage, { params: { id: copy } })).toMatchObject({ deploys: 1 })
    await sound()
  })

  test('[R6.5] new bytes of what is published are reviewed while the old version is deployed; approved they take its place, with its stars and its address', async () => {
    const { review } = gateway.gateway.images
    const customer = await someone()
    const other = await someone()
    const first = await kept(customer)
    await gateway.data(publishImage, { params: { id: first.id } }, customer)
    const copy = (await approve(first.id)).communityId ?? ''
    await gateway.data(starImage, { params: { id: copy } }, other)
    const digestOf = async (id: string) => {
      const [row] = await gateway.database.db.select().from(communityImage).where(eq(communityImage.id, id))
      return row?.digest
    }
    const old = await digestOf(copy)
    // Neither of somebody else's, nor of what is not published, nor of another kind.
    const theirs = await running(other)
    const asked = { instance_id: theirs, version_of: copy }
    expect(refusal(await ask(other, asked))).toBe('version_of not_allowed')
    const { instance } = first
    expect(refusal(await ask(customer, { instance_id: instance, version_of: first.id }))).toBe(
      'version_of not_allowed',
    )
    const body = { instance_id: await running(customer), version_of: copy, version_info: 'torch 3' }
    const next = await make(customer, body)
    expect(next).toMatchObject({ status: 'building', version_of: copy, community_image_id: null })
    await untilImage(customer, next.id, 'private')
    expect(await gateway.data(publishImage, { params: { id: next.id } }, customer)).toMatchObject({
      status: 'review',
      version: 2,
    })
    expect((await review.queue()).find(({ id }) => id === next.id)).toMatchObject({
      versionOf: copy,
      number: 2,
    })
    expect(await digestOf(copy)).toBe(old)
    await running(other, { image_id: copy })
    expect(await of(customer, first.id)).toMatchObject({ status: 'community' })
    // What is said of the old one goes on being edited; whichever is approved first, the numbers go on.
    await gateway.data(editImage, { body: { id: first.id, ...imageDetails, name: 'Harbour 1.1' } }, customer)
    await approve(first.id)
    await approve(next.id)
    expect(await of(customer, next.id)).toMatchObject({
      status: 'community',
      community_image_id: copy,
      version_of: null,
      version: 3,
    })
    expect(await of(customer, first.id)).toMatchObject({ status: 'private', community_image_id: null })
    expect(await gateway.data(getImage, { params: { id: copy } })).toMatchObject({
      stars: 1,
      deploys: 1,
      versions: [{ number: 3, version_info: 'torch 3' }, { number: 2 }, { number: 1 }],
    })
    expect(await digestOf(copy)).not.toBe(old)
    // The old bytes go with the last that wants them, and what the community has stays.
    expect((await store.sizes()).images.has(old ?? '')).toBe(true)
    await gateway.data(deleteImage, { params: { id: first.id } }, customer)
    await untilImage(customer, first.id, null)
    await vi.waitUntil(async () => !(await store.sizes()).images.has(old ?? ''), WAIT)
    await running(other, { image_id: copy })
    await sound()
  })

  test('[R6.5] a new version of what was deleted by its customer, or taken off meanwhile', async () => {
    const customer = await someone()
    const first = await kept(customer)
    await gateway.data(publishImage, { params: { id: first.id } }, customer)
    const copy = (await approve(first.id)).communityId ?? ''
    const { id } = await make(customer, { instance_id: await running(customer), version_of: copy })
    await untilImage(customer, id, 'private')
    const second = await make(customer, { instance_id: await running(customer), version_of: copy })
    await untilImage(customer, second.id, 'private')
    const old = (await gateway.gateway.images.review.show(first.id)).digest ?? ''
    await gateway.data(deleteImage, { params: { id: first.id } }, customer)
    await untilImage(customer, first.id, null)
    await gateway.data(publishImage, { params: { id } }, customer)
    await approve(id)
    expect((await gateway.data(getImage, { params: { id: copy } }, customer)).custom_image_id).toBe(id)
    await vi.waitUntil(async () => !(await store.sizes()).images.has(old), WAIT)
    // Off the community: what is sent then is an image of its own.
    await gateway.data(makeImagePrivate, { params: { id } }, customer)
    await gateway.data(publishImage, { params: { id: second.id } }, customer)
    expect(await approve(second.id)).toMatchObject({ number: 1, versionOf: null })
    expect((await of(customer, second.id))?.community_image_id).not.toBe(copy)
    await sound()
  })

  test('it is taken back, refused with a reason, sent again, and made private, which takes it off', async () => {
    const { review } = gateway.gateway.images
    const customer = await someone()
    const { id } = await kept(customer)
    await gateway.data(publishImage, { params: { id } }, customer)
    expect(await gateway.data(cancelPublishing, { params: { id } }, customer)).toMatchObject({
      status: 'private',
    })
    expect(refusal(await on(cancelPublishing, customer, id))).toBe('image_state')
    await expect(review.reject(id, 'too late')).rejects.toMatchObject({ code: 'image_state' })
    await gateway.data(publishImage, { params: { id } }, customer)
    await review.reject(id, 'README names port 7861')
    expect(await of(customer, id)).toMatchObject({
      status: 'refused',
      reason: { code: 'refused', detail: 'README names port 7861' },
      // It is kept, and paid for.
      micro_per_day: '1700',
    })
    await gateway.data(publishImage, { params: { id } }, customer)
    await approve(id)
    const copy = (await of(customer, id))?.community_image_id ?? ''
    const fan = await someone()
    expect(await gateway.data(starImage, { params: { id: copy } }, fan)).toEqual({
      id: copy,
      stars: 1,
      starred: true,
    })
    expect(await gateway.data(starImage, { params: { id: copy } }, fan)).toMatchObject({ stars: 1 })
    expect(await gateway.data(unstarImage, { params: { id: copy } }, fan)).toMatchObject({
      stars: 0,
      starred: false,
    })
    expect(await gateway.data(makeImagePrivate, { params: { id } }, customer)).toMatchObject({
      status: 'private',
      community_image_id: null,
    })
    expect(refusal(await gateway.call(getImage, { params: { id: copy } }))).toBe('not_found')
    expect(refusal(await on(starImage, fan, copy))).toBe('not_found')
    expect(await deployRefusal(fan, copy)).toBe('image_id not_allowed')
    expect((await of(customer, id))?.size).toBe(1)
  })

  test('[R6.5] others say what is wrong with it, one word each, until the operator has looked', async () => {
    const { reports, review } = gateway.gateway.images
    const author = await someone()
    const copies = await Promise.all(
      [0, 1].map(async () => {
        const { id } = await kept(author)
        await gateway.data(publishImage, { params: { id } }, author)
        await approve(id)
        return (await of(author, id))?.community_image_id ?? ''
      }),
    )
    const [copy = '', another = ''] = copies
    const [one, two] = [await someone(), await someone()]
    const says = (customer: Customer, id: string, text: string) =>
      gateway.call(reportImage, { params: { id }, body: { kind: 'misleading', text } }, customer)
    expect(await says(one, copy, 'It mines coins.')).toMatchObject({ envelope: { data: { id: copy } } })
    expect(await says(one, copy, ' It mines coins at night. ')).toMatchObject({ httpStatus: 200 })
    expect(await says(two, copy, 'Mine does, too.')).toMatchObject({ httpStatus: 200 })
    expect(await says(two, another, 'It has no model.')).toMatchObject({ httpStatus: 200 })
    expect(refusal(await says(author, copy, 'My own is fine.'))).toBe('not_found')
    expect(refusal(await says(one, 'im-zzzzzzz', 'There is none.'))).toBe('not_found')
    expect(refusal(await says(one, copy, ' '))).toBe('text required')
    const reported = async () => (await reports.reported()).map(one => [one.id, one.reports])
    expect(await reported()).toEqual([
      [copy, 2],
      [another, 1],
    ])
    expect((await reports.of(copy)).map(({ text }) => text)).toEqual([
      'It mines coins at night.',
      'Mine does, too.',
    ])
    expect(await reports.close(another)).toBe(1)
    expect(await reported()).toEqual([[copy, 2]])
    await review.takeDown(copy, 'It mines coins.')
    expect(await reports.of(copy)).toEqual([])
    expect(refusal(await says(two, copy, 'Again.'))).toBe('not_found')
  })

  test('no account has more reports waiting than the limit, however many come at once, and none when it is gone', async () => {
    const customer = await someone()
    const copies = Array.from({ length: IMAGE_REPORTS_MAX + 4 }, () => communityCopy(keptImage(randomUUID())))
    await gateway.database.db.insert(communityImage).values(copies)
    const report = (id: string) =>
      gateway.call(
        reportImage,
        { params: { id }, body: { kind: 'broken', text: 'It ends at once.' } },
        customer,
      )
    const answers = await Promise.all(copies.map(({ id }) => report(id)))
    const refused = answers.filter(({ envelope }) => envelope.status === 'error')
    expect(refused.map(refusal)).toEqual(Array(4).fill('image_report_limit'))
    const { reports } = gateway.gateway.images
    expect(await reports.reported()).toHaveLength(IMAGE_REPORTS_MAX)
    await gateway.data(deleteAccount, { body: { email: customer.email, password: '' } }, customer)
    await vi.waitUntil(async () => (await reports.reported()).length === 0, WAIT)
    await gateway.database.db.delete(communityImage).where(
      inArray(
        communityImage.id,
        copies.map(({ id }) => id),
      ),
    )
  })

  test('the operator takes one down, and one whose customer has deleted theirs', async () => {
    const { review } = gateway.gateway.images
    const customer = await someone()
    const { id } = await kept(customer)
    await gateway.data(publishImage, { params: { id } }, customer)
    await approve(id)
    const copy = (await of(customer, id))?.community_image_id ?? ''
    await review.takeDown(copy, 'A key is in it')
    expect(await of(customer, id)).toMatchObject({
      status: 'refused',
      reason: { code: 'taken_down' },
      community_image_id: null,
    })
    expect(refusal(await gateway.call(getImage, { params: { id: copy } }))).toBe('not_found')
    await expect(review.takeDown(copy, 'again')).rejects.toMatchObject({ code: 'not_found' })
    const other = await someone()
    expect(await deployRefusal(other, copy)).toBe('image_id not_allowed')
    const { id: second } = await kept(other)
    await gateway.data(publishImage, { params: { id: second } }, other)
    const left = (await approve(second)).communityId ?? ''
    await gateway.data(deleteImage, { params: { id: second } }, other)
    await untilImage(other, second, null)
    await review.takeDown(left, 'A key is in it')
    expect(refusal(await gateway.call(getImage, { params: { id: left } }))).toBe('not_found')
    expect(await news(other)).toEqual(['in_review', 'published', 'taken_down'])
  })
})

describe('deployed', () => {
  test('[R1.2] [R6.4] by its owner alone, in its region, also on an engine that lacks it', async () => {
    const customer = await someone()
    const { id } = await kept(customer)
    const refused = (who: Customer, change: object) => deployRefusal(who, id, change)
    expect(await refused(await someone(), {})).toBe('image_id not_allowed')
    expect(await refused(customer, { region_code: 'eu-frankfurt' })).toBe('image_id not_allowed')
    const { own } = compute.images
    if (!('delete' in own)) throw new Error('it makes no images')
    await own.delete(id)
    const instance = await running(customer, { image_id: id })
    expect(await ownOnEngine()).toContain(id)
    expect(await shown(customer, instance)).toMatchObject({ image_name: imageDetails.name, image_id: id })
    expect(await of(customer, id)).toMatchObject({ instances: 1 })
  })

  test('[R4.8] deleted, it is gone from the store and costs nothing, and instances go on', async () => {
    const customer = await someone()
    const { id, instance: origin } = await kept(customer)
    await gateway.data(terminateInstance, { params: { id: origin } }, customer)
    const instance = await running(customer, { image_id: id })
    const before = (await store.sizes()).images.size
    await gateway.data(deleteImage, { params: { id } }, customer)
    await untilImage(customer, id, null)
    expect((await store.sizes()).images.size).toBe(before - 1)
    await gateway.gateway.images.run(never)
    expect(await ownOnEngine()).toContain(id)
    await gateway.data(terminateInstance, { params: { id: instance } }, customer)
    await vi.waitUntil(async () => {
      await gateway.gateway.images.run(never)
      return !(await ownOnEngine()).includes(id)
    }, WAIT)
    await sound()
  })
})

describe('[B4] money', () => {
  // Years pass here, and each hour of them would be posted for all that runs by now.
  beforeAll(async () => {
    await gateway.stop()
    await start()
  })

  test('one that nothing is left to pay for is warned of, dated and deleted, never at once; money saves it', async () => {
    const customer = await someone(100)
    const { id, instance } = await kept(customer)
    await gateway.data(terminateInstance, { params: { id: instance } }, customer)
    // What a machine has cost that is found dead later is given back: until then the balance looks empty.
    await vi.waitUntil(() => !compute.held.has(instance), WAIT)
    const { images } = gateway.gateway
    const pass = async (days: number) => {
      aheadMs += days * DAY_MS
      await images.run(never)
      await images.noteEmptyBalance(customer.userId)
      await images.run(never)
      // Whoever was away for so long signs in again.
      const secret = await gateway.gateway.identity.createSignInLink(customer.userId)
      const place = { address: '127.0.0.1', userAgent: 'test', stay: true }
      customer.token = await gateway.gateway.identity.signInByLink(secret, place)
    }
    // $1.00 at $0.0017 a day is enough for 588 days.
    await pass(588)
    expect(await of(customer, id)).toMatchObject({ unpaid_since: null, cost_micro: '999600' })
    await pass(1)
    const unpaid = await of(customer, id)
    expect(unpaid).toMatchObject({
      status: 'private',
      unpaid_since: expect.any(String),
      deleted_on: expect.any(String),
    })
    await gateway.grant(customer.userId, 100)
    await pass(1)
    expect(await of(customer, id)).toMatchObject({ unpaid_since: null, deleted_on: null })
    await pass(588)
    expect((await of(customer, id))?.unpaid_since).not.toBeNull()
    await pass(UNPAID_IMAGE_KEPT_DAYS - 7)
    await pass(4)
    await pass(2)
    expect(await of(customer, id)).toMatchObject({ status: 'private' })
    await pass(1)
    await untilImage(customer, id, null)
    expect((await news(customer)).slice(-5)).toEqual([
      'unpaid',
      'unpaid_soon',
      'unpaid_soon',
      'unpaid_soon',
      'deleted_unpaid',
    ])
    await sound()
  })

  test('[B18] an account with images is not deleted; what it published stays without its name', async () => {
    const customer = await someone()
    const { id, instance } = await kept(customer)
    await gateway.data(terminateInstance, { params: { id: instance } }, customer)
    await vi.waitUntil(() => !compute.held.has(instance), WAIT)
    await gateway.data(publishImage, { params: { id } }, customer)
    await approve(id)
    const copy = (await of(customer, id))?.community_image_id ?? ''
    const leave = () =>
      gateway.call(deleteAccount, { body: { email: customer.email, password: '' } }, customer)
    await vi.waitUntil(async () => refusal(await leave()) === 'account_has_images', WAIT)
    await gateway.data(deleteImage, { params: { id } }, customer)
    await untilImage(customer, id, null)
    expect((await leave()).envelope).toMatchObject({ status: 'ok' })
    await vi.waitUntil(
      async () => (await gateway.data(getImage, { params: { id: copy } })).author === null,
      WAIT,
    )
  })
})
