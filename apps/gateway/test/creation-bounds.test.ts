import { randomBytes } from 'node:crypto'
import {
  type Creation,
  type CreationFile,
  creationArchive,
  deleteCreation,
  getCreation,
  makeImages,
  uploadPicture,
} from '@berth/contract/creations'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { creationFile } from '../src/domains/models/creations/tables.ts'
import { type FilmServerDouble, startFilmServer } from './film-server.ts'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import type { ModelServerDouble } from './model-server.ts'
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
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
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
