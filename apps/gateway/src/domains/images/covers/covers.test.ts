import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CallData } from '@berth/contract/call'
import { coverTypeOf, coverUrlOf } from '@berth/contract/covers'
import { type ErrorEnvelope, GATEWAY_PREFIX, type OkEnvelope } from '@berth/contract/envelope'
import { communityImages, customImages, getImage } from '@berth/contract/images'
import {
  COVER_BYTES_MAX,
  COVER_PIXELS_MAX,
  COVER_SIDE_PX_MIN,
  COVERS_PER_MINUTE_MAX,
} from '@berth/contract/limits'
import { createImage, deleteImage, editImage, publishImage, uploadCover } from '@berth/contract/own-images'
import { eq } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { rateCount } from '../../../platform/database/tables.ts'
import { closeCustomer } from '../../customers/customers.ts'
import { imageDetails, keptImage } from '../images-fixture.ts'
import { imageCoverUpload, ownImage } from '../tables.ts'
import { HELD_MAX, WAITING_PER_USER_MAX } from './covers.ts'
import { animation, asEveryType, flatPng, picture } from './pictures-fixture.ts'
import { DATA_KB_MAX } from './remake-cover.ts'

const DAY_MS = 86_400_000
const never = new AbortController().signal
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ clock, compute: createFakeEngine({ clock }) })
})
afterAll(() => gateway.stop())

type Customer = Awaited<ReturnType<TestGateway['signUp']>>
type Sent = OkEnvelope<CallData<typeof uploadCover>> | ErrorEnvelope

async function send({ token }: Customer, file: Buffer, type = 'application/octet-stream'): Promise<Sent> {
  const response = await fetch(`${gateway.origin}${GATEWAY_PREFIX}${uploadCover.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body: new Uint8Array(file),
  })
  return (await response.json()) as Sent
}
async function taken(customer: Customer, file: Buffer) {
  const sent = await send(customer, file)
  if (sent.status === 'error') throw new Error(`${sent.code} ${JSON.stringify(sent.fields)}`)
  return sent.data
}
const refusal = (envelope: Sent | { status: string }) => {
  if (envelope.status !== 'error') throw new Error('it was not refused')
  const { code, fields } = envelope as ErrorEnvelope
  const [field] = fields ?? []
  return field ? `${field.path} ${field.rule}` : code
}
const look = (url: string, headers: Record<string, string> = {}) => fetch(gateway.origin + url, { headers })
async function shown(url: string): Promise<Buffer> {
  const response = await look(url)
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}
const round = () => gateway.gateway.images.run(never)
async function ownOf({ userId }: Customer, changes: Partial<typeof ownImage.$inferInsert> = {}) {
  const row = keptImage(userId, changes)
  await gateway.database.db.insert(ownImage).values(row)
  return row.id
}
const give = (customer: Customer, id: string, cover: string | null) =>
  gateway.call(editImage, { body: { ...imageDetails, id, cover } }, customer)
const coverOf = async (customer: Customer, id: string) =>
  (await gateway.data(getImage, { params: { id } }, customer)).cover_url

describe('a picture that is sent', () => {
  test.each(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'] as const)(
    '[R5.6] %s comes back as a WebP that fits, for anybody, and is kept for good there',
    async type => {
      const customer = await gateway.signUp()
      const file = (await asEveryType(2_400, 600))[type]
      expect(coverTypeOf(file)).toBe(type)
      const sent = await taken(customer, file)
      expect(sent).toMatchObject({ width: 1_200, height: 300, cover_url: coverUrlOf(sent.cover) })
      const response = await look(sent.cover_url)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'image/webp',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'public, max-age=31536000, immutable',
        // A brand's image storage shows it at another origin.
        'cross-origin-resource-policy': 'cross-origin',
        etag: `"${sent.cover}"`,
      })
      const { format, width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata()
      expect({ format, width, height }).toEqual({ format: 'webp', width: 1_200, height: 300 })
      const again = await look(sent.cover_url, { 'if-none-match': `"${sent.cover}"` })
      expect([again.status, await again.text()]).toEqual([304, ''])
    },
  )

  test('[R5.6] of an animation the first frame is kept', async () => {
    const { cover_url, width, height } = await taken(await gateway.signUp(), await animation())
    expect([width, height]).toEqual([200, 100])
    const webp = await shown(cover_url)
    expect((await sharp(webp).metadata()).pages ?? 1).toBe(1)
    const { channels } = await sharp(webp).stats()
    expect([channels[0]?.mean, channels[2]?.mean].map(mean => Math.round((mean ?? 0) / 20))).toEqual([13, 0])
  })

  test('[R5.6] where it was taken is gone, and it is turned as it was held', async () => {
    const file = await picture(300, 200)
      .withExif({
        IFD0: { Make: 'A camera' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '48/1 51/1 30/1' },
      })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    expect(file.includes('A camera')).toBe(true)
    const { cover_url, width, height } = await taken(await gateway.signUp(), file)
    expect([width, height]).toEqual([200, 300])
    const webp = await shown(cover_url)
    expect(webp.includes('A camera')).toBe(false)
    const { exif, xmp, icc, iptc } = await sharp(webp).metadata()
    expect({ exif, xmp, icc, iptc }).toEqual({})
  })

  test('[R5.6] what is in it that is not drawn does not come back: a script behind a picture', async () => {
    const script = Buffer.from('<script>alert(1)</script>')
    const file = Buffer.concat([await picture().png().toBuffer(), script])
    const { cover_url } = await taken(await gateway.signUp(), file)
    expect((await shown(cover_url)).includes('script')).toBe(false)
  })

  test('[R5.6] one that no quality makes small is drawn so that it comes to few bytes', async () => {
    const noise = await sharp({
      create: {
        width: 1_400,
        height: 1_200,
        channels: 3,
        background: '#000',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })
      .jpeg({ quality: 70 })
      .toBuffer()
    const { cover_url } = await taken(await gateway.signUp(), noise)
    expect((await shown(cover_url)).length).toBeLessThanOrEqual(400_000)
  })
})

describe('what is no cover', () => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300"><script>alert(1)</script></svg>'
  test.each([
    ['an SVG', async () => Buffer.from(svg), 'cover cover_type'],
    [
      'HTML that says it is a PNG',
      async () => Buffer.from('<!doctype html><script>1</script>'),
      'cover cover_type',
    ],
    [
      'an SVG behind the sign of a PNG',
      async () => Buffer.from(`\x89PNG\r\n\x1a\n${svg}`, 'latin1'),
      'cover cover_broken',
    ],
    ['nothing', async () => Buffer.alloc(0), 'cover cover_type'],
    ['a TIFF', () => picture().tiff().toBuffer(), 'cover cover_type'],
    [
      'one that is too small',
      () =>
        picture(400, COVER_SIDE_PX_MIN - 1)
          .png()
          .toBuffer(),
      'cover cover_too_small',
    ],
    ['one of too many pixels', async () => flatPng(6_001, 4_000), 'cover cover_pixels'],
    ['one that says it has a billion pixels', async () => flatPng(32_000, 32_000, 10), 'cover cover_pixels'],
    [
      'too many bytes',
      async () => Buffer.concat([await picture().png().toBuffer(), Buffer.alloc(COVER_BYTES_MAX)]),
      'cover cover_too_large',
    ],
    ['a PNG whose rows are missing', async () => flatPng(400, 400, 200), 'cover cover_broken'],
  ])('[R5.6] %s is refused, with why', async (_, make, why) => {
    const customer = await gateway.signUp()
    expect(refusal(await send(customer, await make()))).toBe(why)
    const rows = await gateway.database.db
      .select()
      .from(imageCoverUpload)
      .where(eq(imageCoverUpload.userId, customer.userId))
    expect(rows).toEqual([])
  })

  test('[R5.6] a file that breaks off is refused, whatever it is', async () => {
    const customer = await gateway.signUp()
    for (const [type, file] of Object.entries(await asEveryType(800, 800))) {
      const half = file.subarray(0, Math.floor(file.length / 2))
      expect(refusal(await send(customer, half)), type).toBe('cover cover_broken')
    }
  })

  test('[R5.6] what is sent as JSON or a form is none, and nobody sends one without a verified account', async () => {
    const customer = await gateway.signUp()
    expect(refusal(await send(customer, Buffer.from('{}'), 'application/json'))).toBe(
      'unsupported_media_type',
    )
    expect(refusal(await send({ ...customer, token: 'x' }, Buffer.from('x')))).toBe('login_expired')
  })

  test('[R5.6] an account that was closed a moment ago keeps nothing', async () => {
    const customer = await gateway.signUp()
    const { userId } = customer
    await gateway.database.db.transaction(tx => closeCustomer(tx, { userId, at: clock.now() }))
    expect(refusal(await send(customer, await picture().png().toBuffer()))).toBe('login_expired')
  })

  test('an address that is none of a cover is not found', async () => {
    const { cover_url } = await taken(await gateway.signUp(), await picture(333, 222).png().toBuffer())
    for (const url of [
      coverUrlOf('0'.repeat(64)),
      cover_url.replace('.webp', ''),
      cover_url.replace('.webp', '.svg'),
      cover_url.toUpperCase().replace('/GATEWAY/COVERS', '/gateway/covers'),
      `${GATEWAY_PREFIX}/covers/`,
      `${GATEWAY_PREFIX}/covers/..%2f..%2fpackage.json.webp`,
    ]) {
      expect((await look(url)).status, url).toBe(404)
    }
  })
})

describe('the process that draws', () => {
  /** Processes of this one that draw a picture. */
  const drawing = (): number[] =>
    readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .filter(pid => {
        try {
          const [, parent] = /\) . (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
          return (
            Number(parent) === process.pid &&
            readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('cover-process.ts')
          )
        } catch {
          return false
        }
      })
      .map(Number)
  const oneThatDraws = () => vi.waitUntil(() => drawing()[0] ?? null, { timeout: PATIENCE_MS, interval: 2 })

  test.runIf(process.platform === 'linux')(
    '[R5.6] it has bounds that hold whatever the picture does to it: memory, time, no files',
    async () => {
      const customer = await gateway.signUp()
      const bomb = flatPng(6_000, COVER_PIXELS_MAX / 6_000)
      expect(bomb.length).toBeLessThan(200_000)
      const sending = send(customer, bomb)
      const pid = await oneThatDraws()
      let peakKb = 0
      let limits = ''
      while (drawing().includes(pid)) {
        try {
          limits = readFileSync(`/proc/${pid}/limits`, 'utf8') || limits
          const [, kb = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
          peakKb = Math.max(peakKb, Number(kb))
        } catch {
          break
        }
        await new Promise(setImmediate)
      }
      expect(refusalOrSize(await sending)).toBe('1200 × 800')
      expect(limits).toMatch(new RegExp(`Max data size +${DATA_KB_MAX * 1_024} `))
      expect(limits).toMatch(/Max file size +0 +0 /)
      expect(limits).toMatch(/Max cpu time +15 /)
      expect(peakKb).toBeGreaterThan(0)
      expect(peakKb).toBeLessThan(DATA_KB_MAX)
    },
  )

  test.runIf(process.platform === 'linux')(
    '[R5.6] where it is ended in the middle that is said, and the next picture is drawn',
    async () => {
      const customer = await gateway.signUp()
      const sending = send(customer, flatPng(5_000, 4_000))
      process.kill(await oneThatDraws(), 'SIGKILL')
      expect(refusal(await sending)).toBe('cover cover_broken')
      expect((await taken(customer, await picture().png().toBuffer())).width).toBe(400)
    },
  )

  test('[R5.6] by itself it reads five kinds of files, whatever else its library could', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300"/>'
    for (const file of [Buffer.from(svg), await picture().tiff().toBuffer()]) {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'cover-process.ts')])
      child.stdin.end(file)
      expect(JSON.parse(await text(child.stdout))).toEqual({ refused: 'cover_broken' })
    }
  })

  const refusalOrSize = (sent: Sent) =>
    sent.status === 'ok' ? `${sent.data.width} × ${sent.data.height}` : refusal(sent)
})

describe('the cover of an image', () => {
  test('[R5.6] an image is made with it, shows it, and gives it up', async () => {
    const customer = await gateway.signUp()
    await gateway.grant(customer.userId, 10_000)
    const { cover, cover_url } = await taken(customer, await picture(500, 500).png().toBuffer())
    const id = await ownOf(customer)
    expect(await coverOf(customer, id)).toBeNull()
    expect((await give(customer, id, cover)).envelope).toMatchObject({ data: { cover, cover_url } })
    expect(await gateway.data(customImages, {}, customer)).toMatchObject([{ cover, cover_url }])
    expect(await coverOf(customer, id)).toBe(cover_url)
    await gateway.data(editImage, { body: { ...imageDetails, id, cover: null } }, customer)
    expect(await coverOf(customer, id)).toBeNull()
  })

  test('[R5.6] [R6.4] somebody else’s is as unknown as none at all, and nothing is made or changed with it', async () => {
    const [one, other] = [await gateway.signUp(), await gateway.signUp()]
    await gateway.grant(other.userId, 10_000)
    const { cover } = await taken(one, await picture(501, 500).png().toBuffer())
    const id = await ownOf(other)
    for (const stranger of [cover, 'a'.repeat(64), 'nothing', '../x']) {
      expect(refusal((await give(other, id, stranger)).envelope), stranger).toBe('cover cover_unknown')
    }
    expect(await coverOf(other, id)).toBeNull()
    const body = { ...imageDetails, image_reference: 'localhost:1/none', cover }
    const made = await gateway.call(
      createImage,
      { body },
      { token: other.token, idempotencyKey: randomUUID() },
    )
    expect(made.envelope.status).toBe('error')
    expect(await gateway.data(customImages, {}, other)).toHaveLength(1)
    // Whoever sends the same picture has it too.
    await taken(other, await picture(501, 500).png().toBuffer())
    expect((await give(other, id, cover)).envelope.status).toBe('ok')
  })

  test('[R5.6] what an image has it keeps, and gives to another one of the same customer', async () => {
    const customer = await gateway.signUp()
    const { cover } = await taken(customer, await picture(502, 500).png().toBuffer())
    const [id, second] = [await ownOf(customer), await ownOf(customer)]
    await give(customer, id, cover)
    aheadMs += 2 * DAY_MS
    await round()
    expect((await give(customer, id, cover)).envelope.status).toBe('ok')
    expect((await give(customer, second, cover)).envelope.status).toBe('ok')
  })

  test('[R5.6] [R4.8] the community’s copy has the cover that was approved, whatever becomes of the original', async () => {
    const customer = await gateway.signUp()
    const first = await taken(customer, await picture(503, 500).png().toBuffer())
    const second = await taken(customer, await picture(504, 500).png().toBuffer())
    const id = await ownOf(customer, { name: 'With a cover' })
    await give(customer, id, first.cover)
    await gateway.data(publishImage, { params: { id } }, customer)
    const { review } = gateway.gateway.images
    // What was looked at is what is approved, its cover as well.
    const { seen } = await review.show(id)
    await give(customer, id, second.cover)
    await expect(review.approve(id, seen)).rejects.toMatchObject({ code: 'image_changed' })
    await give(customer, id, first.cover)
    await review.approve(id, seen)
    const published = async () =>
      (await gateway.data(communityImages, {})).find(({ name }) => name === imageDetails.name)
    expect((await published())?.cover_url).toBe(first.cover_url)
    // A new version is reviewed; the old cover stays meanwhile.
    await give(customer, id, second.cover)
    expect((await published())?.cover_url).toBe(first.cover_url)
    await gateway.data(deleteImage, { params: { id } }, customer)
    await vi.waitUntil(
      async () => {
        await round()
        return (await gateway.data(customImages, {}, customer)).length === 0
      },
      { timeout: PATIENCE_MS },
    )
    aheadMs += 2 * DAY_MS
    await round()
    expect((await published())?.cover_url).toBe(first.cover_url)
    await shown(first.cover_url)
    expect((await look(second.cover_url)).status).toBe(404)
    const copy = await published()
    await review.takeDown(copy?.id ?? '', 'Not what it says')
    await round()
    expect((await look(first.cover_url)).status).toBe(404)
  })
})

describe('what no image has', () => {
  test('[R5.6] it goes after a day, and not before', async () => {
    const customer = await gateway.signUp()
    const { cover, cover_url } = await taken(customer, await picture(505, 500).png().toBuffer())
    aheadMs += DAY_MS - 3_600_000
    await round()
    await shown(cover_url)
    aheadMs += 7_200_000
    await round()
    expect((await look(cover_url)).status).toBe(404)
    expect(refusal((await give(customer, await ownOf(customer), cover)).envelope)).toBe('cover cover_unknown')
  })

  test('[R5.6] of one customer so many wait, and a new one takes the place of the oldest', async () => {
    const customer = await gateway.signUp()
    const { userId } = customer
    const { db } = gateway.database
    const oldest = await taken(customer, await picture(506, 500).png().toBuffer())
    const earlier = Array.from({ length: WAITING_PER_USER_MAX - 1 }, (_, at) => ({
      userId,
      digest: String(at).padStart(64, '0'),
      at: new Date(clock.now().getTime() + at + 1),
    }))
    await db.insert(imageCoverUpload).values(earlier)
    await round()
    await shown(oldest.cover_url)
    aheadMs += 60_000
    const newest = await taken(customer, await picture(507, 500).png().toBuffer())
    await round()
    const waiting = await db
      .select({ digest: imageCoverUpload.digest })
      .from(imageCoverUpload)
      .where(eq(imageCoverUpload.userId, userId))
    expect(waiting.map(({ digest }) => digest).toSorted()).toEqual(
      [...earlier.map(({ digest }) => digest), newest.cover].toSorted(),
    )
    expect((await look(oldest.cover_url)).status).toBe(404)
    await shown(newest.cover_url)
  })

  test('[R5.6] so many are sent a minute, one at a time, and that is said', async () => {
    const customer = await gateway.signUp()
    const file = Buffer.from('no picture')
    for (let count = 0; count < COVERS_PER_MINUTE_MAX; count++) {
      expect(refusal(await send(customer, file))).toBe('cover cover_type')
    }
    expect(refusal(await send(customer, file))).toBe('too_many_requests')
    const other = await gateway.signUp()
    const both = await Promise.all([1, 2].map(() => send(other, flatPng(4_000, 3_000))))
    expect(both.map(sent => (sent.status === 'ok' ? 'ok' : refusal(sent))).toSorted()).toEqual([
      'ok',
      'too_many_requests',
    ])
  })

  test('[R5.6] who sends a byte at a time keeps nobody from sending theirs, however many do so', async () => {
    const { host } = new URL(gateway.origin)
    const { db } = gateway.database
    await db.delete(rateCount)
    const sockets: Socket[] = []
    for (let count = 0; count < HELD_MAX; count++) {
      const { token } = await gateway.signUp()
      const socket = connect(gateway.port, '127.0.0.1').on('error', () => undefined)
      sockets.push(socket)
      socket.write(
        `POST ${GATEWAY_PREFIX}${uploadCover.path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
          'Content-Type: application/octet-stream\r\nContent-Length: 100\r\n\r\nx',
      )
    }
    // Each has its place once it is counted.
    const counted = async () => (await db.select().from(rateCount)).length
    await vi.waitUntil(async () => (await counted()) === HELD_MAX, { timeout: PATIENCE_MS })
    const [first] = sockets
    const answered = text(first as Socket)
    aheadMs += 10_000
    const customer = await gateway.signUp()
    expect((await taken(customer, await picture().png().toBuffer())).width).toBe(400)
    // The one that was on its way longest has given its place up, and is told to try again.
    first?.end()
    expect(await answered).toContain('"code":"unavailable"')
    for (const socket of sockets) socket.destroy()
  })

  test('[R5.6] one that one image gives up while another one gets it is not removed in between', async () => {
    const customer = await gateway.signUp()
    const { db } = gateway.database
    const [from, to] = [await ownOf(customer), await ownOf(customer)]
    const { cover, cover_url } = await taken(customer, await picture(200, 100).png().toBuffer())
    await give(customer, from, cover)
    await db.delete(imageCoverUpload).where(eq(imageCoverUpload.userId, customer.userId))
    // Whoever writes to the second image waits for the test.
    await db.execute(`create function wait_for_test() returns trigger language plpgsql
      as 'begin perform pg_advisory_xact_lock(94); return new; end'`)
    await db.execute(`create trigger wait_for_test before update on own_image
      for each row when (new.id = '${to}') execute function wait_for_test()`)
    const giving = await db.transaction(async tx => {
      await tx.execute('select pg_advisory_xact_lock(94)')
      const given = give(customer, to, cover)
      await vi.waitUntil(
        async () =>
          (
            await db.execute(
              `select 1 from pg_locks where locktype = 'advisory' and objid = 94 and not granted`,
            )
          ).rows.length > 0,
        { timeout: PATIENCE_MS },
      )
      // Nobody else has it, and it is not written yet who will. The customer's wallet is taken, so no call of theirs can.
      await db.update(ownImage).set({ cover: null }).where(eq(ownImage.id, from))
      await round()
      return { given }
    })
    expect((await giving.given).envelope.status).toBe('ok')
    await round()
    await shown(cover_url)
    await db.execute('drop trigger wait_for_test on own_image')
  })
})
