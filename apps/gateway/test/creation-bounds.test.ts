import { randomBytes } from 'node:crypto'
import {
  type Creation,
  type CreationFile,
  creationArchive,
  deleteCreation,
  getCreation,
  listCreations,
  makeImages,
  makeVideo,
  retryCreation,
  stopCreation,
  uploadPicture,
} from '@berth/contract/creations'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import {
  CREATION_IMAGE_BYTES_MAX,
  CREATION_STORED_BYTES_MAX,
  CREATION_VIDEOS_BEGUN_PER_MINUTE_MAX,
  CREATION_VIDEOS_STOPPED_PER_HOUR_MAX,
} from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { creationFile, creationItem } from '../src/domains/models/creations/tables.ts'
import { type FilmServerDouble, refusesFilm, seems, startFilmServer } from './film-server.ts'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import type { ModelServerDouble } from './model-server.ts'
import { pngHead } from './picture-heads.ts'
import type { TestGateway } from './start-gateway.ts'

/**
 * Goal: nobody takes more of what pictures and films are kept in and made by than is theirs, nobody learns of another's, and
 * what was deleted is gone at once (decision 0140).
 * Method: the whole gateway over HTTP with customers who try.
 */

let films: FilmServerDouble
let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let customer: ModelCustomer

beforeAll(async () => {
  films = await startFilmServer()
  models = await startModelGateway({
    filmLimits: { lookMs: 60 },
    more: ({ server, spare }) => [
      hostedModel('painter', { kind: 'image', servers: [at(server)] }),
      hostedModel('hanging', { kind: 'image', servers: [at(spare)] }),
      hostedModel('filmer', { kind: 'video', servers: [{ ...at(server), url: films.url }] }),
    ],
  })
  ;({ gateway, server } = models)
})
afterAll(async () => {
  await models.stop()
  await films.close()
})
beforeEach(async () => {
  films.plan = {}
  films.asked.length = 0
  server.answer(paints(picture()))
  customer = await models.customer()
})

const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 30_000, interval: 50 })
const PNG = pngHead(640, 480)
/** Bytes that nobody else has. */
const picture = (bytes = 100) => Buffer.concat([PNG, randomBytes(bytes)])
const paints =
  (bytes: Buffer): Parameters<ModelServerDouble['answer']>[0] =>
  response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data: [{ b64_json: bytes.toString('base64') }] }))
  }
const upload = async (bytes: Buffer, token: string) => {
  const answer = await fetch(`${gateway.origin}${GATEWAY_PREFIX}${uploadPicture.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  })
  return { http: answer.status, ...((await answer.json()) as { data: CreationFile; code?: string }) }
}
const ORDER = { model: 'painter', prompt: 'A harbour', size: '256x256', count: 1 }
const ended = (id: string, { token } = customer): Promise<Creation> =>
  eventually(async () => {
    const run = await gateway.data(getCreation, { params: { id } }, { token })
    for (const { status } of run.items) expect(['saved', 'failed', 'stopped']).toContain(status)
    return run
  })
const make = (order: object = {}, { token } = customer) =>
  gateway.data(makeImages, { body: { ...ORDER, ...order } }, { token })
const statusOf = async (url: string | null | undefined) => (await fetch(`${gateway.origin}${url}`)).status
const suspend = ({ userId }: ModelCustomer) =>
  gateway.gateway.identity.desk.suspend({ userId, reason: 'abuse', machinesUntil: new Date() })
const rowsOf = (id: string) => gateway.database.db.select().from(creationFile).where(eq(creationFile.id, id))

/** Files that nothing has, as many accounts leave them. */
const leaveUnused = (many: number) =>
  gateway.database.db.execute(sql`
    insert into creation_file (id, type, bytes, digest, created_at)
    select ('00000000-0000-7000-8000-' || lpad(g::text, 12, '0'))::uuid, 'image/png', 10,
      md5(g::text) || md5((g + 1)::text), now()
    from generate_series(1, ${many}::int) g`)
const unused = async () => {
  const { rows } = await gateway.database.db.execute<{ n: number }>(
    sql`select count(*)::int as n from creation_file where bytes = 10`,
  )
  return rows[0]?.n
}

test('a round removes all that nothing has, however much that is', async () => {
  await leaveUnused(350)
  await gateway.gateway.models.creations.tidy()
  expect(await unused()).toBe(0)
})

test('a picture that is deleted is gone with its run, however much else is to be removed', async () => {
  const run = await ended((await make()).id)
  const file = run.items[0]?.file
  expect(await statusOf(file?.url)).toBe(200)
  await leaveUnused(150)
  await gateway.data(deleteCreation, { params: { id: run.id } }, { token: customer.token })
  expect(await statusOf(file?.url)).toBe(404)
  expect(await rowsOf(file?.id ?? '')).toEqual([])
})

test('files go with their account', async () => {
  const sent = await upload(picture(), customer.token)
  const run = await ended((await make()).id)
  const { db } = gateway.database
  await db.transaction(tx => gateway.gateway.models.creations.forget(tx, customer.userId))
  for (const id of [sent.data.id, run.items[0]?.file?.id ?? '']) expect(await rowsOf(id)).toEqual([])
})

test('an address ends with what its customer had, even where another sends the same bytes', async () => {
  const bytes = picture()
  server.answer(paints(bytes))
  const run = await ended((await make()).id)
  const other = await models.customer()
  const theirs = await upload(bytes, other.token)
  // Nor does anybody learn by sending it that it is there, and since when.
  expect(theirs.data.id).not.toBe(run.items[0]?.file?.id)
  await gateway.data(deleteCreation, { params: { id: run.id } }, { token: customer.token })
  expect(await statusOf(run.items[0]?.file?.url)).toBe(404)
  expect(await statusOf(theirs.data.url)).toBe(200)
})

test('addresses of a customer who is kept out open nothing', async () => {
  const run = await ended((await make()).id)
  const { url } = await gateway.data(creationArchive, { query: { kind: 'image' } }, customer)
  expect([await statusOf(run.items[0]?.file?.url), await statusOf(url)]).toEqual([200, 200])
  await suspend(customer)
  expect([await statusOf(run.items[0]?.file?.url), await statusOf(url)]).toEqual([404, 404])
})

test('what newer pictures push out is gone at once', async () => {
  const first = await upload(picture(), customer.token)
  for (let sent = 0; sent < 10; sent++) await upload(picture(), customer.token)
  await gateway.database.db.execute(sql`delete from rate_count`)
  for (let sent = 0; sent < 10; sent++) await upload(picture(), customer.token)
  expect(await rowsOf(first.data.id)).toEqual([])
})

const openItems = ({ userId }: ModelCustomer) =>
  gateway.database.db.select().from(creationItem).where(eq(creationItem.userId, userId))

const film = () =>
  gateway.call(
    makeVideo,
    { body: { model: 'filmer', prompt: 'x', size: '256x256', seconds: 1 } },
    { token: customer.token },
  )
const madeFilm = async () => {
  const { envelope } = await film()
  if (envelope.status === 'error') throw new Error(envelope.code)
  return envelope.data.id
}

test('a model that hangs, and who has much made by it, keeps no other customer and no other model waiting', async () => {
  models.spare.answer(() => {})
  const [many, more] = [await models.customer(), await models.customer()]
  try {
    await make({ model: 'hanging', count: 4 }, many)
    await make({ model: 'hanging', count: 4 }, more)
    await eventually(async () => expect(models.spare.asked).toHaveLength(2))
    expect((await ended((await make({ count: 3 })).id)).items.map(({ status }) => status)).toEqual([
      ...['saved', 'saved', 'saved'],
    ])
    // Half of the places are the model's, whoever asks.
    expect(models.spare.asked).toHaveLength(2)
    const begun = [...(await openItems(many)), ...(await openItems(more))].filter(
      ({ owner }) => owner !== null,
    )
    expect(begun).toHaveLength(2)
  } finally {
    for (const { token } of [many, more]) {
      const { items } = await gateway.data(listCreations, { query: {} }, { token })
      for (const { id } of items) await gateway.data(stopCreation, { params: { id } }, { token })
    }
  }
})

test('a customer holds no more than two places of a gateway', async () => {
  films.plan = { look: seems('in_progress') }
  for (let asked = 0; asked < 4; asked++) await madeFilm()
  const begun = async () => (await openItems(customer)).filter(({ owner }) => owner !== null)
  await eventually(async () => expect(await begun()).toHaveLength(2))
  const { items } = await gateway.data(listCreations, { query: {} }, { token: customer.token })
  await gateway.data(deleteCreation, { params: { id: items[3]?.id ?? '' } }, { token: customer.token })
  await eventually(async () => {
    expect(films.asked.filter(({ line }) => line.startsWith('POST'))).toHaveLength(3)
    expect(await begun()).toHaveLength(2)
  })
  films.plan = {}
  for (const { id } of items.slice(0, 3)) await ended(id)
})

test('a key of a customer who is kept out reads nothing, and what waits of them is not begun', async () => {
  models.spare.answer(() => {})
  const asked = models.spare.asked.length
  await make({ model: 'hanging', count: 4 })
  await eventually(async () => expect(models.spare.asked).toHaveLength(asked + 2))
  const get = async (path: string) => {
    const answer = await fetch(`${gateway.origin}${path}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    })
    return { http: answer.status, ...((await answer.json()) as object) }
  }
  expect(await get('/v1/models')).toMatchObject({ http: 200 })
  await suspend(customer)
  const refused = { http: 403, error: { code: 'account_deactivated', type: 'invalid_request_error' } }
  // The database tells it to gateways, which takes a moment.
  await eventually(async () => expect(await get('/v1/models')).toMatchObject(refused))
  for (const path of ['/v1/videos', '/v1/videos/video_0', '/v1/other']) {
    expect(await get(path)).toMatchObject(refused)
  }
  // Those under way end; the other two stay where they are, whatever room there is.
  const held = (await openItems(customer)).filter(({ owner }) => owner !== null)
  const { db } = gateway.database
  const free = { owner: null, leasedUntil: null }
  for (const { id } of held) await db.update(creationItem).set(free).where(eq(creationItem.id, id))
  customer = await models.customer()
  await ended((await make()).id)
  expect(models.spare.asked).toHaveLength(asked + 2)
})

test('what a model makes beyond a picture’s bytes is not kept, nor what its customer has no room for by then; neither costs', async () => {
  server.answer(paints(picture(CREATION_IMAGE_BYTES_MAX)))
  const large = await ended((await make()).id)
  expect(large).toMatchObject({ cost_micro: '0', items: [{ error: { code: 'model_answer_too_large' } }] })
  const { data: sent } = await upload(picture(), customer.token)
  const last = picture(1_000)
  server.answer(async (response, request) => {
    // While it is made, another takes the room.
    const bytes = CREATION_STORED_BYTES_MAX - 500
    await gateway.database.db.update(creationFile).set({ bytes }).where(eq(creationFile.id, sent.id))
    paints(last)(response, request)
  })
  const full = await ended((await make()).id)
  expect(full).toMatchObject({
    ...{ cost_micro: '0' },
    items: [
      { status: 'failed', error: { code: 'creations_full', message: expect.stringContaining('2 GB') } },
    ],
  })
  const { rows } = await gateway.database.db.execute(sql`select 1 from creation_piece where bytes = ${last}`)
  expect(rows).toEqual([])
})

test('begins of films in a minute are bounded, those that are made again too', async () => {
  films.plan = { begin: refusesFilm(400, 'no') }
  const first = await ended(await madeFilm())
  for (let begun = 1; begun < CREATION_VIDEOS_BEGUN_PER_MINUTE_MAX; begun++) await ended(await madeFilm())
  const refused = { code: 'too_many_requests' }
  expect((await film()).envelope).toMatchObject(refused)
  const retry = { params: { id: first.items[0]?.id ?? '' } }
  expect((await gateway.call(retryCreation, retry, { token: customer.token })).envelope).toMatchObject(
    refused,
  )
  // Pictures are counted by themselves, each of a run.
  expect((await ended((await make({ count: 2 })).id)).items).toHaveLength(2)
})

test('who stops what servers have begun may do so some times in an hour: it costs nothing', async () => {
  films.plan = { look: seems('in_progress', { progress: 99 }) }
  for (let stopped = 0; stopped < CREATION_VIDEOS_STOPPED_PER_HOUR_MAX; stopped++) {
    const id = await madeFilm()
    await eventually(async () =>
      expect((await openItems(customer)).find(one => one.creationId === id)?.status).toBe('rendering'),
    )
    // Deleted or stopped is the same.
    await gateway.data(deleteCreation, { params: { id } }, { token: customer.token })
  }
  const { envelope } = await film()
  expect(envelope).toMatchObject({ code: 'too_many_requests' })
  customer = await models.customer()
  films.plan = {}
  await ended(await madeFilm())
})

test('what waits to be used is bounded by bytes, for who has no money by less, and in the whole', async () => {
  const { db } = gateway.database
  const poor = await models.customer(0)
  const sent: string[] = []
  for (let one = 0; one < 6; one++) sent.push((await upload(picture(), poor.token)).data.id)
  expect(await rowsOf(sent[0] ?? '')).toEqual([])
  expect(await rowsOf(sent[1] ?? '')).toHaveLength(1)
  const { data: large } = await upload(picture(), customer.token)
  await db.update(creationFile).set({ bytes: 200_000_000 }).where(eq(creationFile.id, large.id))
  await upload(picture(), customer.token)
  expect(await rowsOf(large.id)).toEqual([])
  await db
    .update(creationFile)
    .set({ bytes: 20_000_000_000 })
    .where(eq(creationFile.id, sent[1] ?? ''))
  const another = await models.customer(0)
  expect(await upload(picture(), another.token)).toMatchObject({ http: 503, code: 'unavailable' })
  expect(await upload(picture(), customer.token)).toMatchObject({ http: 200 })
})
