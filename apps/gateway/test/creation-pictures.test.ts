import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  type Creation,
  type CreationFile,
  creationArchive,
  creationOutlook,
  deleteCreation,
  getCreation,
  listCreations,
  makeImages,
  makeVideo,
  retryCreation,
  starCreation,
  uploadPicture,
} from '@berth/contract/creations'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { and, count, eq, isNull } from 'drizzle-orm'
import { encode } from 'fast-png'
import { toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { walletHold } from '../src/domains/billing/ledger/tables.ts'
import { creation, creationFile, creationUpload } from '../src/domains/models/creations/tables.ts'
import { createDemoFilms } from '../src/drivers/models/demo/demo-films.ts'
import { type FilmServerDouble, startFilmServer } from './film-server.ts'
import { at, hostedModel, PRICES } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import { type ModelServerDouble, refuses } from './model-server.ts'
import { jpegHead, pngHead } from './picture-heads.ts'
import type { TestGateway } from './start-gateway.ts'

/**
 * Goal: pictures are kept by runs, each paid for by itself and only where it is made, and go when they are to (R2.30); films
 * are made by the demo and by official clients.
 * Method: the whole gateway over HTTP, against a server that does what a test says, and the demo.
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
    more: ({ server }) => {
      const image_input = { count_max: 1, bytes_max: 1_000_000, types: ['image/png' as const] }
      return [
        hostedModel('painter', { kind: 'image', servers: [at(server)], image_input }),
        hostedModel('drawn', { kind: 'image' }),
        hostedModel('filmed', { kind: 'video', sizes: ['64x64'] }),
        hostedModel('filmer', { kind: 'video', image_input, servers: [{ ...at(server), url: films.url }] }),
      ]
    },
  })
  ;({ gateway, server } = models)
})
afterAll(async () => {
  await models.stop()
  await films.close()
})
beforeEach(async () => {
  customer = await models.customer()
  server.asked.length = 0
  films.asked.length = 0
  films.plan = {}
})

/** Tries again until it holds. */
const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 20_000, interval: 30 })
const png = (shade: number, side = 8) =>
  Buffer.from(
    encode({ width: side, height: side, data: new Uint8Array(side * side * 3).fill(shade), channels: 3 }),
  )
const paints =
  (bytes: Buffer): Parameters<ModelServerDouble['answer']>[0] =>
  response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ created: 1, data: [{ b64_json: bytes.toString('base64') }] }))
  }
const ORDER = { model: 'painter', prompt: 'A harbour', size: '256x256', count: 1, seed: 90_414 }
const make = (order: object = {}) =>
  gateway.data(makeImages, { body: { ...ORDER, ...order } }, { token: customer.token })
const get = (id: string) => gateway.data(getCreation, { params: { id } }, { token: customer.token })
const ended = (id: string): Promise<Creation> =>
  eventually(async () => {
    const run = await get(id)
    for (const { status } of run.items) expect(['saved', 'failed', 'stopped']).toContain(status)
    return run
  })
const bytesOf = async (file: CreationFile | null | undefined) =>
  Buffer.from(await (await fetch(`${gateway.origin}${file?.url}`)).arrayBuffer())
const holds = () =>
  gateway.database.db
    .select()
    .from(walletHold)
    .where(and(eq(walletHold.userId, customer.userId), isNull(walletHold.releasedAt)))
const upload = async (bytes: Buffer, token = customer.token) => {
  const answer = await fetch(`${gateway.origin}${GATEWAY_PREFIX}${uploadPicture.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  })
  return { http: answer.status, ...((await answer.json()) as { data: CreationFile; fields?: object[] }) }
}
const list = (query: object = {}) => gateway.data(listCreations, { query }, { token: customer.token })

test('[R2.30] a run has a picture for each seed, each charged by itself; what failed is not, and is made again alone', async () => {
  const busy = refuses(400, 'out of memory')
  server.answer(paints(png(1)), paints(png(2)), busy, paints(png(3)))
  const { id } = await make({ count: 4, negative_prompt: 'people' })
  expect(await holds()).toHaveLength(4)
  const run = await ended(id)
  expect(run).toMatchObject({
    ...{ kind: 'image', count: 4, seed: 90_414, cost_micro: String(3n * PRICES.image), seconds: null },
    items: [0, 1, 2, 3].map(number => ({ number, seed: 90_414 + number })),
  })
  const failed = run.items.filter(({ status }) => status === 'failed')
  expect(failed).toMatchObject([
    {
      cost_micro: '0',
      file: null,
      error: { code: 'model_refused', message: expect.stringContaining('out of memory') },
    },
  ])
  expect(await holds()).toEqual([])
  expect(server.asked.map(({ body }) => body)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...{ n: 1, seed: 90_415, negative_prompt: 'people' }, size: '256x256' }),
    ]),
  )
  expect(await list({ kind: 'image', show: 'not_made' })).toMatchObject({
    ...{ items: [{ id }], counts: { all: 4, not_made: 1, starred: 0, open: 0 } },
    month_cost_micro: String(3n * PRICES.image),
  })
  server.answer(paints(png(4)))
  const again = { params: { id: failed[0]?.id ?? '' } }
  await gateway.data(retryCreation, again, { token: customer.token })
  const whole = await ended(id)
  expect(whole.cost_micro).toBe(String(4n * PRICES.image))
  expect(whole.items.find(({ id: one }) => one === again.params.id)).toMatchObject({
    status: 'saved',
    error: null,
    seed: failed[0]?.seed,
  })
  expect((await gateway.call(retryCreation, again, { token: customer.token })).envelope).toMatchObject({
    code: 'creation_state',
  })
  const outlook = await gateway.data(
    creationOutlook,
    { query: { model: 'painter' } },
    { token: customer.token },
  )
  expect(outlook.median_ms).toBeGreaterThanOrEqual(0)
})

test.each([
  ['is dead', (response: { destroy(): void }) => response.destroy(), 'model_call_failed'],
  ['has too much to do', refuses(429, 'busy'), 'model_busy'],
  [
    'gives an address',
    (response: { end(text: string): void }) => response.end('{"data":[{"url":"http://127.0.0.1/x"}]}'),
    'model_answer_wrong',
  ],
  ['gives a page as a picture', paints(Buffer.from('<svg onload=alert(1)>')), 'model_answer_wrong'],
  [
    'gives nothing',
    (response: { end(text: string): void }) => response.end('{"data":[]}'),
    'model_answer_wrong',
  ],
] as const)('a picture whose server %s costs nothing, and says why', async (_, how, code) => {
  server.answer(how as never)
  const run = await ended((await make()).id)
  expect(run).toMatchObject({ cost_micro: '0', items: [{ status: 'failed', error: { code } }] })
  expect(await holds()).toEqual([])
})

test('all of a run is paid for in advance, or none of it is begun', async () => {
  customer = await models.customer(8)
  const answer = await gateway.call(makeImages, { body: { ...ORDER, count: 3 } }, { token: customer.token })
  expect(answer.envelope).toMatchObject({ code: 'insufficient_balance' })
  expect(await holds()).toEqual([])
  expect(await list()).toMatchObject({ items: [], counts: { all: 0 } })
  expect(server.asked).toEqual([])
})

test('a picture that was sent, or one that was made, is what others are made after; it goes to the server as it is', async () => {
  const sent = png(9)
  const { data: file } = await upload(sent)
  expect(file).toMatchObject({ type: 'image/png', bytes: sent.length })
  const stranger = await models.customer()
  const theirs = await gateway.call(
    makeImages,
    { body: { ...ORDER, image: file.id } },
    { token: stranger.token },
  )
  expect(theirs.envelope).toMatchObject({ fields: [{ path: 'image', rule: 'picture_unknown' }] })
  const made = png(10)
  server.answer(paints(made))
  const run = await ended((await make({ image: file.id })).id)
  expect(server.asked[0]?.url).toBe('/v1/images/edits')
  expect(server.asked[0]?.text).toContain(sent.toString('latin1'))
  expect((await bytesOf(run.image)).equals(sent)).toBe(true)
  expect((await bytesOf(run.items[0]?.file)).equals(made)).toBe(true)
  await ended((await make({ image: run.items[0]?.file?.id })).id)
  expect(server.asked.at(-1)?.text).toContain(made.toString('latin1'))
})

test('[R5.10] what is no picture, or too large for it, is refused with the field', async () => {
  expect(await upload(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toMatchObject({
    ...{ http: 400, fields: [{ path: 'image', rule: 'picture_type' }] },
  })
  expect(await upload(pngHead(10_000, 8_001))).toMatchObject({
    ...{ http: 400, fields: [{ path: 'image', rule: 'picture_pixels' }] },
  })
  expect(await upload(pngHead(10_000, 8_000))).toMatchObject({ http: 200 })
  // A telephone's, which says how far away everything was before how large it is.
  expect(await upload(jpegHead(4_000, 3_000, 40))).toMatchObject({ http: 200 })
  for (const hidden of [jpegHead(30_000, 30_000, 40), jpegHead(30_000, 30_000, 70)])
    expect(await upload(hidden)).toMatchObject({ http: 400, fields: [{ rule: 'picture_pixels' }] })
  expect(await upload(Buffer.alloc(0))).toMatchObject({ http: 400 })
  const large = Buffer.concat([png(1), Buffer.alloc(1_000_000)])
  const { data } = await upload(large)
  const answer = await gateway.call(
    makeImages,
    { body: { ...ORDER, image: data.id } },
    { token: customer.token },
  )
  expect(answer.envelope).toMatchObject({ fields: [{ path: 'image', rule: 'picture_too_large' }] })
})

test('pictures are found by words and by seed, starred, and shown by pages', async () => {
  server.answer(paints(png(20)))
  const first = await ended((await make({ prompt: 'A LIGHTHOUSE 100%', seed: 5 })).id)
  const second = await ended((await make({ prompt: 'A chart', count: 2, seed: 11 })).id)
  const found = async (query: object) => (await list(query)).items.map(({ id }) => id)
  expect(await found({ search: 'lighthouse 100%' })).toEqual([first.id])
  expect(await found({ search: '%' })).toEqual([first.id])
  expect(await found({ search: '12' })).toEqual([second.id])
  expect(await found({ search: '_' })).toEqual([])
  const star = { params: { id: second.items[1]?.id ?? '' }, body: { starred: true } }
  expect(await gateway.data(starCreation, star, { token: customer.token })).toMatchObject({ starred: true })
  const stranger = await models.customer()
  expect((await gateway.call(starCreation, star, { token: stranger.token })).httpStatus).toBe(404)
  expect(await list({ show: 'starred' })).toMatchObject({
    items: [{ id: second.id }],
    counts: { starred: 1, all: 3 },
  })
  const page = await list({ limit: 1 })
  expect(page.items.map(({ id }) => id)).toEqual([second.id])
  const next = await list({ limit: 1, cursor: page.next_cursor ?? '' })
  expect(next).toMatchObject({ items: [{ id: first.id }], next_cursor: null, counts: null })
})

test('the same bytes of a customer are kept once, for as long as anything has them, and what is kept long enough goes', async () => {
  const shade = png(77)
  server.answer(paints(shade))
  const one = await ended((await make()).id)
  const two = await ended((await make()).id)
  const ofBytes = createHash('sha256').update(shade).digest('hex')
  const digest = createHash('sha256').update(`${customer.userId} ${ofBytes}`).digest('hex')
  const files = () => gateway.database.db.select().from(creationFile).where(eq(creationFile.digest, digest))
  expect(await files()).toHaveLength(1)
  expect((await list()).stored_bytes).toBe(shade.length)
  await gateway.data(deleteCreation, { params: { id: one.id } }, { token: customer.token })
  expect((await bytesOf(two.items[0]?.file)).equals(shade)).toBe(true)
  await gateway.database.db
    .update(creation)
    .set({ keptUntil: new Date(0) })
    .where(eq(creation.id, two.id))
  await gateway.gateway.models.creations.tidy()
  expect(await files()).toEqual([])
  expect(await list()).toMatchObject({ items: [], stored_bytes: 0 })
})

/** Files of an archive whose files are as they are, by the list at its end, as programs read it. */
function unzipped(zip: Buffer): Map<string, Buffer> {
  const end = zip.subarray(-22)
  expect(end.readUInt32LE(0)).toBe(0x06054b50)
  const files = new Map<string, Buffer>()
  let at = end.readUInt32LE(16)
  for (let left = end.readUInt16LE(10); left > 0; left--) {
    const [crc, bytes] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 24)]
    const [nameBytes, from] = [zip.readUInt16LE(at + 28), zip.readUInt32LE(at + 42)]
    const content = zip.subarray(from + 30 + nameBytes, from + 30 + nameBytes + bytes)
    expect(crc32(content)).toBe(crc)
    files.set(zip.toString('latin1', at + 46, at + 46 + nameBytes), content)
    at += 46 + nameBytes
  }
  expect(at).toBe(zip.length - 22)
  return files
}

test('all pictures come as one archive, each once, which programs open', async () => {
  const archive = () => gateway.data(creationArchive, { query: { kind: 'image' } }, { token: customer.token })
  expect(await archive()).toEqual({ url: null, files: 0, bytes: 0 })
  const shades = [png(41), png(42)]
  for (const shade of [...shades, shades[0] ?? png(41)]) {
    server.answer(paints(shade))
    await ended((await make()).id)
  }
  const { url, files, bytes } = await archive()
  expect({ files, bytes }).toEqual({ files: 2, bytes: shades.reduce((sum, { length }) => sum + length, 0) })
  const answer = await fetch(`${gateway.origin}${url}`)
  expect(answer.headers.get('content-disposition')).toContain('berth-images.zip')
  const contents = unzipped(Buffer.from(await answer.arrayBuffer()))
  expect([...contents.keys()].every(name => /^\d{4}-\d\d-\d\d-90414-[0-9a-f]{6}\.png$/.test(name))).toBe(true)
  expect([...contents.values()]).toEqual(shades)
  expect((await fetch(`${gateway.origin}${url?.replace('.image/', '.video/')}`)).status).toBe(404)
})

test('what nobody has made anything of within a day goes, and with an account all that it has', async () => {
  const { data: file } = await upload(png(31))
  await gateway.database.db
    .update(creationUpload)
    .set({ at: new Date(0) })
    .where(eq(creationUpload.userId, customer.userId))
  await gateway.gateway.models.creations.tidy()
  expect(await gateway.database.db.select().from(creationFile).where(eq(creationFile.id, file.id))).toEqual(
    [],
  )
  server.answer(paints(png(32)))
  await ended((await make()).id)
  films.plan = { look: () => undefined }
  await gateway.data(
    makeVideo,
    { body: { model: 'filmer', prompt: 'x', size: '256x256', seconds: 1 } },
    { token: customer.token },
  )
  await gateway.gateway.models.creations.files.removeUnused()
  const { db } = gateway.database
  await db.transaction(tx => gateway.gateway.models.creations.forget(tx, customer.userId))
  const [left] = await db.select({ runs: count() }).from(creation).where(eq(creation.userId, customer.userId))
  expect(left?.runs).toBe(0)
  expect(await holds()).toEqual([])
})

test('[B11] the demo draws the same film for the same order, says in it that no model did, and goes on after a restart', async () => {
  const order = {
    prompt: 'A boat',
    negativePrompt: '',
    seed: 3,
    size: '64x64',
    seconds: 1,
    image: null,
    lastImage: null,
  }
  const digests: string[] = []
  const { signal } = new AbortController()
  for (const seed of [3, 3, 4]) {
    const here = createDemoFilms(0)
    const { id } = await here.begin({ ...order, seed }, signal)
    // Another process knows it by its name alone.
    const there = createDemoFilms(0)
    await eventually(async () =>
      expect(await there.look(id, signal)).toMatchObject({ status: 'completed', frame: 10, frames: 10 }),
    )
    const pieces: Uint8Array[] = []
    for await (const piece of (await there.fetch(id, signal)).body) pieces.push(piece)
    digests.push(createHash('sha256').update(Buffer.concat(pieces)).digest('hex'))
    await here.remove(id, signal)
  }
  expect(digests[0]).toBe(digests[1])
  expect(digests[0]).not.toBe(digests[2])
})

test('an official client makes, follows, lists, reads and deletes films; a key sees its own alone', async () => {
  const client = customer.client()
  const body = { model: 'filmed', prompt: 'A boat', seconds: '1', size: '64x64', seed: 3 }
  const begun = await client.videos.create(body as never)
  expect(begun).toMatchObject({
    object: 'video',
    model: 'filmed',
    status: 'queued',
    seconds: '1',
    size: '64x64',
    error: null,
  })
  const film = await eventually(async () => {
    const now = await client.videos.retrieve(begun.id)
    expect(now.status).toBe('completed')
    return now
  })
  expect(film).toMatchObject({ progress: 100, prompt: 'A boat', completed_at: expect.any(Number) })
  const content = await client.videos.downloadContent(begun.id)
  expect(content.headers.get('content-type')).toBe('video/webm')
  expect(
    Buffer.from(await content.arrayBuffer())
      .subarray(0, 4)
      .toString('hex'),
  ).toBe('1a45dfa3')
  const second = await client.videos.create(body as never)
  const listed = []
  for await (const one of client.videos.list({ limit: 1 })) listed.push(one.id)
  expect(listed).toEqual([second.id, begun.id])
  const other = (await models.customer()).client()
  await expect(other.videos.retrieve(begun.id)).rejects.toMatchObject({ status: 404 })
  await expect(other.videos.delete(begun.id)).rejects.toMatchObject({ status: 404 })
  expect(await client.videos.delete(begun.id)).toEqual({
    id: begun.id,
    object: 'video.deleted',
    deleted: true,
  })
  await expect(client.videos.retrieve(begun.id)).rejects.toMatchObject({ status: 404 })
  expect(await list({ kind: 'video' })).toMatchObject({ items: [{ source: 'api', model_id: 'filmed' }] })
  const asJson = (order: object) =>
    fetch(`${gateway.origin}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...order }),
    })
  expect((await asJson({ prompt: 'a\0b' })).status).toBe(400)
  expect((await asJson({ input_reference: { image_url: 'http://10.0.0.1/a.png' } })).status).toBe(400)
  await expect(client.videos.create({ ...body, seconds: '9' } as never)).rejects.toMatchObject({
    status: 400,
    param: 'seconds',
  })
  await expect(client.videos.create({ ...body, api_base: 'http://x' } as never)).rejects.toMatchObject({
    status: 400,
    param: 'api_base',
  })
})

test('a film by a client is made after the picture that came with it', async () => {
  const first = png(55)
  const client = customer.client()
  const body = {
    model: 'filmer',
    prompt: 'A boat',
    input_reference: await toFile(first, 'a.png', { type: 'image/png' }),
  }
  const { id } = await client.videos.create(body)
  await eventually(async () => expect((await client.videos.retrieve(id)).status).toBe('completed'))
  expect(films.asked[0]?.body).toContain('name="input_reference"')
  expect(films.asked[0]?.body).toContain(first.toString('latin1'))
})
