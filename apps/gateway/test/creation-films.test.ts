import { listMailbox } from '@berth/contract/account'
import { getBalance } from '@berth/contract/billing'
import type { Creation } from '@berth/contract/creations'
import {
  deleteCreation,
  getCreation,
  listCreations,
  makeVideo,
  retryCreation,
  stopCreation,
} from '@berth/contract/creations'
import { CREATION_STORED_BYTES_MAX } from '@berth/contract/limits'
import { listSessionLog } from '@berth/contract/session-log'
import { and, eq, isNull } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { walletHold } from '../src/domains/billing/ledger/tables.ts'
import { creationFile, creationItem, creationPiece } from '../src/domains/models/creations/tables.ts'
import { FILM, type FilmServerDouble, refusesFilm, seems, startFilmServer } from './film-server.ts'
import { at, hostedModel, PRICES } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import type { TestGateway } from './start-gateway.ts'

/**
 * Goal: a film is a job that ends once, is paid for once and only where it is ready, whoever dies meanwhile (R2.30, R1.5).
 * Method: the whole gateway over HTTP against a server that speaks OpenAI's protocol for films and does what a test says.
 */

const LIMITS = { lookMs: 40, filmMs: 6_000, fetchMs: 3_000, failuresMax: 2 }
/** Tries again until it holds. */
const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 20_000, interval: 30 })
let films: FilmServerDouble
let models: ModelGateway
let gateway: TestGateway
let customer: ModelCustomer

beforeAll(async () => {
  films = await startFilmServer()
  models = await startModelGateway({
    filmLimits: LIMITS,
    more: () => [
      hostedModel('filmer', {
        kind: 'video',
        image_input: { count_max: 2, bytes_max: 1_000_000, types: ['image/png'] },
        servers: [{ ...at(models?.server ?? { url: '' }), url: films.url }],
      }),
    ],
  })
  gateway = models.gateway
})
afterAll(async () => {
  await models.stop()
  await films.close()
})
beforeEach(async () => {
  films.plan = {}
  films.asked.length = 0
  customer = await models.customer()
})

const ORDER = { model: 'filmer', prompt: 'A harbour at dusk', size: '256x256', seconds: 2, seed: 7 }
const make = (order: object = {}) =>
  gateway.data(makeVideo, { body: { ...ORDER, ...order } }, { token: customer.token })
const get = (id: string) => gateway.data(getCreation, { params: { id } }, { token: customer.token })
const ended = (id: string): Promise<Creation> =>
  eventually(async () => {
    const film = await get(id)
    const [item] = film.items
    expect(['saved', 'failed', 'stopped']).toContain(item?.status)
    return film
  })
const holds = () =>
  gateway.database.db
    .select()
    .from(walletHold)
    .where(and(eq(walletHold.userId, customer.userId), isNull(walletHold.releasedAt)))
const refusal = async (order: object) => {
  const answer = await gateway.call(makeVideo, { body: { ...ORDER, ...order } }, { token: customer.token })
  return answer.envelope
}

describe('a film', () => {
  test('[R2.30] is made by its settings, charged by the second when it is ready, and read in parts by a player', async () => {
    films.plan = { looks: 4 }
    const { id } = await make({ negative_prompt: 'people' })
    expect(await holds()).toHaveLength(1)
    const film = await ended(id)
    const [item] = film.items
    expect(film).toMatchObject({
      ...{
        kind: 'video',
        seconds: 2,
        seed: 7,
        size: '256x256',
        negative_prompt: 'people',
        source: 'console',
      },
      cost_micro: String(2n * PRICES.videoSecond),
    })
    expect(item).toMatchObject({
      status: 'saved',
      file: { type: 'video/webm', bytes: FILM.length },
      error: null,
    })
    expect(await holds()).toEqual([])
    const url = `${gateway.origin}${item?.file?.url}`
    const whole = await fetch(url)
    expect(Buffer.from(await whole.arrayBuffer()).equals(FILM)).toBe(true)
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      ...{ 'content-type': 'video/webm', 'accept-ranges': 'bytes', 'x-content-type-options': 'nosniff' },
      'content-security-policy': "default-src 'none'; sandbox",
    })
    const part = await fetch(url, { headers: { range: 'bytes=524280-524300' } })
    expect([part.status, part.headers.get('content-range')]).toEqual([
      206,
      `bytes 524280-524300/${FILM.length}`,
    ])
    expect(Buffer.from(await part.arrayBuffer()).equals(FILM.subarray(524_280, 524_301))).toBe(true)
    expect((await fetch(url, { headers: { range: `bytes=${FILM.length}-` } })).status).toBe(416)
    expect((await fetch(`${url}x`)).status).toBe(404)
    expect((await fetch(`${url}?download`)).headers.get('content-disposition')).toMatch(
      /^attachment; .*\.webm/,
    )
    // What the server was sent, by the names that such servers have.
    const [asked] = films.asked
    for (const [name, text] of [
      ['model', 'theirs'],
      ['prompt', ORDER.prompt],
      ['seconds', '2'],
      ['size', '256x256'],
      ['seed', '7'],
      ['negative_prompt', 'people'],
    ]) {
      expect(asked?.body).toContain(`name="${name}"\r\n\r\n${text}\r\n`)
    }
    expect(asked?.authorization).toBe('Bearer their-key')
    const log = await gateway.data(listSessionLog, { query: {} }, { token: customer.token })
    expect(log.items[0]).toMatchObject({ model_id: 'filmer', status: 'done', cost_micro: film.cost_micro })
    // Kept here, it is not wanted there.
    await eventually(async () => expect(films.films.size).toBe(0))
  })

  test('is charged for no more seconds than were asked for, and for fewer where its server says so', async () => {
    films.plan = { seconds: '60' }
    expect((await ended((await make()).id)).cost_micro).toBe(String(2n * PRICES.videoSecond))
    films.plan = { seconds: '1' }
    expect((await ended((await make()).id)).cost_micro).toBe(String(PRICES.videoSecond))
  })

  test('is refused before anything is begun where it is not the model’s, not paid for, or one too many', async () => {
    expect(await refusal({ seconds: 3 })).toMatchObject({
      fields: [{ path: 'seconds', rule: 'not_allowed' }],
    })
    expect(await refusal({ size: '1x1' })).toMatchObject({ fields: [{ path: 'size', rule: 'not_allowed' }] })
    expect(await refusal({ model: 'one' })).toMatchObject({ code: 'model_kind' })
    expect(await refusal({ image: '0199c0de-0000-7000-8000-000000000000' })).toMatchObject({
      fields: [{ path: 'image', rule: 'picture_unknown' }],
    })
    films.plan = { look: seems('in_progress') }
    for (let film = 0; film < 4; film++) await make()
    expect(await refusal({})).toMatchObject({ code: 'creations_under_way' })
    customer = await models.customer(5)
    expect(await refusal({})).toMatchObject({ code: 'insufficient_balance' })
    expect(films.asked.filter(({ line }) => line.startsWith('POST')).length).toBeLessThanOrEqual(4)
  })

  test('that is stopped costs nothing, and its server is told', async () => {
    films.plan = { look: seems('in_progress', { progress: 40 }) }
    const { id } = await make()
    await eventually(async () =>
      expect((await get(id)).items[0]).toMatchObject({ status: 'rendering', progress: { percent: 40 } }),
    )
    const stopped = await gateway.data(stopCreation, { params: { id } }, { token: customer.token })
    expect(stopped).toMatchObject({ cost_micro: '0', items: [{ status: 'stopped', error: null }] })
    expect(await holds()).toEqual([])
    await eventually(async () => expect(films.asked.some(({ line }) => line.startsWith('DELETE'))).toBe(true))
    films.plan = {}
    await gateway.data(
      retryCreation,
      { params: { id: stopped.items[0]?.id ?? '' } },
      { token: customer.token },
    )
    expect((await ended(id)).items[0]).toMatchObject({ status: 'saved', seed: 7 })
  })

  test('[B10] by a key is within the key’s limits: its models, and what it may spend', async () => {
    const spend_limit = { amount: 12, period: 'day' as const }
    customer = await models.customer(100, { spend_limit, models: ['filmer'] })
    const videos = customer.client().videos
    const order = { model: 'filmer', prompt: 'A boat', seconds: '2', size: '256x256' } as never
    const { id } = await videos.create(order)
    // A second one may cost more than what is left, whatever the first will have cost.
    await expect(videos.create(order)).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' })
    await eventually(async () => expect((await videos.retrieve(id)).status).toBe('completed'))
    await expect(videos.create({ ...(order as object), model: 'one' } as never)).rejects.toMatchObject({
      status: 400,
    })
  })

  test('is told of by mail where that is wanted, ready or not, without what it shows', async () => {
    const mails = async () => {
      const { items } = await gateway.data(listMailbox, {})
      return items.filter(({ subject }) => /video/i.test(subject))
    }
    const before = (await mails()).length
    await ended((await make()).id)
    const { id } = await make({ mail: true, prompt: 'A secret boat' })
    await ended(id)
    films.plan = { begin: refusesFilm(400, 'no boats') }
    await ended((await make({ mail: true })).id)
    const told = await eventually(async () => {
      const all = await mails()
      expect(all).toHaveLength(before + 2)
      return all
    })
    const subjects = told.map(({ subject }) => subject).join()
    expect(subjects).toContain('is ready')
    expect(subjects).toContain('was not made')
    expect(JSON.stringify(told)).not.toContain('secret boat')
    expect(JSON.stringify(told)).toContain('/video-model')
    const ready = told.find(({ subject }) => subject.includes('is ready'))
    const { created_at } = await get(id)
    expect(ready?.text).toContain(`asked for at ${created_at.slice(0, 10)} ${created_at.slice(11, 16)} UTC.`)
    // It is no matter of data at stake.
    expect(ready?.text).toContain('because you asked for it on the page.')
    expect(ready?.text).not.toContain('at stake')
  })

  test('is refused where the customer keeps as much as may be', async () => {
    const [item] = (await ended((await make()).id)).items
    const { db } = gateway.database
    const file = eq(creationFile.id, item?.file?.id ?? '')
    await db.update(creationFile).set({ bytes: CREATION_STORED_BYTES_MAX }).where(file)
    try {
      expect(await refusal({})).toMatchObject({ code: 'creations_full' })
    } finally {
      await db.update(creationFile).set({ bytes: FILM.length }).where(file)
    }
  })

  test('that is deleted goes with its bytes; another’s is the same as none', async () => {
    // Bytes that nobody else has.
    films.plan = { content: response => response.end(Buffer.concat([FILM, Buffer.from('of its own')])) }
    const { id } = await make()
    const [item] = (await ended(id)).items
    const stranger = await models.customer()
    for (const call of [getCreation, deleteCreation, stopCreation]) {
      expect((await gateway.call(call, { params: { id } }, { token: stranger.token })).httpStatus).toBe(404)
    }
    await gateway.data(deleteCreation, { params: { id } }, { token: customer.token })
    expect((await fetch(`${gateway.origin}${item?.file?.url}`)).status).toBe(404)
    expect((await gateway.call(getCreation, { params: { id } }, { token: customer.token })).httpStatus).toBe(
      404,
    )
    await gateway.gateway.models.creations.tidy()
    const left = await gateway.database.db
      .select()
      .from(creationPiece)
      .where(eq(creationPiece.fileId, item?.file?.id ?? ''))
    expect(left).toEqual([])
  })
})

const huge = 10_000_000_000
describe('a film whose server fails is not charged, and says why', () => {
  test.each([
    ['is dead', { begin: response => response.destroy() }, 'model_call_failed'],
    ['has too much to do', { begin: refusesFilm(429, 'busy') }, 'model_busy'],
    ['refuses what was asked', { begin: refusesFilm(400, 'no boats') }, 'model_refused'],
    ['refuses the operator’s key', { begin: refusesFilm(401, 'bad key') }, 'model_call_failed'],
    ['speaks something else', { begin: response => response.end('<html>') }, 'model_answer_wrong'],
    [
      'names films as it likes',
      { begin: response => response.end(JSON.stringify({ id: '../models', status: 'queued' })) },
      'model_answer_wrong',
    ],
    ['dies while it makes it', { look: response => response.destroy() }, 'model_call_failed'],
    ['forgets it', { look: refusesFilm(404, 'gone') }, 'model_call_failed'],
    ['fails at it', { look: seems('failed', { error: { message: 'out of memory' } }) }, 'model_refused'],
    ['never ends', { look: seems('in_progress', { progress: 1e9 }) }, 'model_too_slow'],
    [
      'sends a page',
      {
        content: response => {
          response.writeHead(200, { 'content-type': 'text/html' })
          response.end('<script>')
        },
      },
      'model_answer_wrong',
    ],
    [
      'sends a page as a film',
      {
        content: response => {
          response.writeHead(200, { 'content-type': 'video/mp4' })
          response.end('<script>')
        },
      },
      'model_answer_wrong',
    ],
    [
      'sends nothing',
      {
        content: response => {
          response.writeHead(200, { 'content-type': 'video/mp4' })
          response.end()
        },
      },
      'model_answer_wrong',
    ],
    [
      'sends ten gigabytes',
      {
        content: response => {
          response.writeHead(200, { 'content-type': 'video/webm', 'content-length': huge })
          response.write(FILM)
        },
      },
      'model_answer_too_large',
    ],
    [
      'breaks off',
      {
        content: response => {
          response.writeHead(200, { 'content-type': 'video/webm', 'content-length': 2_000_000 })
          response.write(FILM.subarray(0, 900_000))
          setTimeout(() => response.destroy(), 30)
        },
      },
      'model_call_failed',
    ],
    [
      'sends it too slowly',
      {
        content: response => {
          response.writeHead(200, { 'content-type': 'video/webm' })
          response.write(FILM.subarray(0, 600_000))
        },
      },
      'model_too_slow',
    ],
  ] satisfies [string, FilmServerDouble['plan'], string][])('its server %s', async (_, plan, code) => {
    films.plan = plan
    const film = await ended((await make()).id)
    expect(film).toMatchObject({
      cost_micro: '0',
      items: [{ status: 'failed', file: null, error: { code } }],
    })
    expect(film.items[0]?.error?.message).not.toMatch(/\{\{|^$/)
    if (code === 'model_refused') expect(film.items[0]?.error?.message).toMatch(/no boats|out of memory/)
    expect(await holds()).toEqual([])
    expect(await gateway.data(getBalance, {}, { token: customer.token })).toMatchObject({
      account_balance: { amount: 100, amount_freeze: 0 },
    })
    const unfinished = await gateway.database.db
      .select()
      .from(creationFile)
      .where(isNull(creationFile.digest))
    expect(unfinished).toEqual([])
  })

  test('progress that goes backwards is not believed', async () => {
    const said = [30, 20, 500, -3, 40]
    const seen: number[] = []
    films.plan = {
      look: (response, asked) =>
        seems(said.length > 0 ? 'in_progress' : 'completed', { progress: said.shift() ?? 0 })(
          response,
          asked,
        ),
    }
    const { id } = await make()
    await eventually(async () => {
      const [item] = (await get(id)).items
      if (item?.progress) seen.push(item.progress.percent)
      expect(item?.status).toBe('saved')
    })
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  })
})

describe('any number of gateways', () => {
  test('another one goes on with a film whose gateway has died, and it is made and charged once', async () => {
    films.plan = { look: seems('in_progress', { progress: 10 }) }
    const { id } = await make()
    await eventually(async () => expect((await get(id)).items[0]?.status).toBe('rendering'))
    const [item] = await gateway.database.db
      .select()
      .from(creationItem)
      .where(eq(creationItem.creationId, id))
    // As a gateway leaves it that is killed: its lease runs out, and nobody has given it back.
    const dead = await models.another()
    try {
      await gateway.database.db
        .update(creationItem)
        .set({ owner: 'a gateway that is dead', leasedUntil: new Date(Date.now() - 1) })
        .where(eq(creationItem.id, item?.id ?? ''))
      films.plan = { looks: 1 }
      const film = await ended(id)
      expect(film).toMatchObject({
        cost_micro: String(2n * PRICES.videoSecond),
        items: [{ status: 'saved' }],
      })
      expect(films.asked.filter(({ line }) => line === 'POST /v1/videos')).toHaveLength(1)
    } finally {
      await dead.stop()
    }
  })

  test('each film is worked on by one of them', async () => {
    const other = await models.another()
    try {
      const made = await Promise.all([make(), make(), make({ seed: 8 })])
      for (const { id } of made) expect((await ended(id)).items[0]?.status).toBe('saved')
      expect(films.asked.filter(({ line }) => line === 'POST /v1/videos')).toHaveLength(3)
      const list = await gateway.data(listCreations, { query: { search: '8' } }, { token: customer.token })
      expect(list).toMatchObject({
        items: [{ seed: 8 }],
        counts: { all: 3, open: 0, not_made: 0, starred: 0 },
      })
    } finally {
      await other.stop()
    }
  })
})
