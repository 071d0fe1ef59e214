import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { getBalance, topup } from '@berth/contract/billing'
import { getCreation, makeVideo } from '@berth/contract/creations'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { FILM, type FilmServerDouble, seems, startFilmServer } from '../film-server.ts'
import { signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome } from './gateway-home-fixture.ts'

/**
 * Goal: a film that is under way when its gateway is killed with -9 is made all the same, and paid for once.
 * Method: a real gateway with a database of its own, and a server of films that goes on meanwhile.
 */

const CATALOGUE = resolve(import.meta.dirname, '../../../../config/catalogue.yaml')
const CENTS = 1_000
const FILM_CENTS = 2
const TEST_MS = 240_000
const PATIENCE = { timeout: 90_000, interval: 100 }

let films: FilmServerDouble
let home: GatewayHome
beforeAll(async () => {
  films = await startFilmServer()
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-film-'))
  const catalogue = parse(readFileSync(CATALOGUE, 'utf8')) as {
    models: { id: string; servers?: object[]; free_calls_per_day?: number }[]
  }
  for (const model of catalogue.models) {
    if (model.id !== 'berth/demo-video') continue
    model.servers = [{ driver: 'openai', url: films.url }]
    model.free_calls_per_day = 0
  }
  const file = join(folder, 'catalogue.yaml')
  writeFileSync(file, stringify(catalogue))
  home = await createGatewayHome({ folder, settings: { BERTH_CATALOGUE: file } })
}, TEST_MS)
afterAll(async () => {
  await home?.remove()
  await films?.close()
}, TEST_MS)

test(
  '[R2.30] [B1] a film whose gateway is killed with -9 goes on at its server, and is saved and charged once',
  async () => {
    onTestFailed(() => void process.stderr.write(home.output()))
    const run = await home.start()
    const customer = await signUp(home.origin)
    await customer.data(topup, topupInput(CENTS))
    const before = (await customer.data(getBalance, {})).account_balance.amount
    films.plan = { look: seems('in_progress', { progress: 30 }) }
    const order = { model: 'berth/demo-video', prompt: 'A boat', size: '640x360', seconds: 2 }
    const { id } = await customer.data(makeVideo, { body: order })
    const item = async () => (await customer.data(getCreation, { params: { id } })).items[0]
    await expect.poll(async () => (await item())?.progress?.percent, PATIENCE).toBe(30)
    await run.kill()
    films.plan = { looks: 1 }
    await home.start()
    await expect.poll(async () => (await item())?.status, PATIENCE).toBe('saved')
    expect(await item()).toMatchObject({
      cost_micro: String(FILM_CENTS * 10_000),
      file: { bytes: FILM.length },
    })
    expect(films.asked.filter(({ line }) => line === 'POST /v1/videos')).toHaveLength(1)
    const { account_balance: after } = await customer.data(getBalance, {})
    expect(after).toMatchObject({ amount: before - FILM_CENTS, amount_freeze: 0 })
  },
  TEST_MS,
)
