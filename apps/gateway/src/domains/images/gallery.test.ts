import { deleteAccount } from '@berth/contract/account-security'
import {
  communityImages,
  communityImagesIn,
  customImages,
  customImagesIn,
  getImage,
  getImagePrice,
} from '@berth/contract/images'
import { starImage } from '@berth/contract/own-images'
import { eq, lt, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { keptImage } from './images-fixture.ts'
import { communityImage, communityImageVersion, imageDeploy, imageStar, ownImage } from './tables.ts'
import { workingDaysAfter } from './working-days.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

test('[R7.3] [R3.4] nobody has published anything, and a customer has no images: both lists are empty', async () => {
  const { token } = await gateway.signUp()
  expect(await gateway.data(communityImages, {})).toEqual([])
  expect(await gateway.data(customImages, {}, { token })).toEqual([])
  expect(await gateway.data(getImagePrice, {}, { token })).toMatchObject({
    currency: 'USD',
    micro_per_gb_day: '1700',
    micro_per_day: '0',
    size: 0,
  })
})

test('[R1.2] [R9.6] own images say what they hold and cost, by region, and nobody else sees them', async () => {
  const mine = await gateway.signUp()
  const row = keptImage(mine.userId, { regionCode: 'eu-frankfurt', sizeBytes: 2.5 * 1_073_741_824 })
  await gateway.database.db.insert(ownImage).values(row)
  const [shown] = await gateway.data(customImages, {}, mine)
  expect(shown).toMatchObject({
    id: row.id,
    type: 'Custom',
    status: 'private',
    size: 2_560,
    min_disk_gb: 3,
    micro_per_day: '5100',
    cost_micro: '0',
    review_by: null,
    instances: 0,
  })
  const inRegion = (region: string) => gateway.data(customImagesIn, { params: { region } }, mine)
  expect(await inRegion('eu-frankfurt')).toHaveLength(1)
  expect(await inRegion('us-west')).toEqual([])
  expect(await gateway.data(getImagePrice, {}, mine)).toMatchObject({ micro_per_day: '5100', size: 2_560 })
  expect(await gateway.data(getImage, { params: { id: row.id } }, mine)).toMatchObject({
    readme: row.readme,
    own: { status: 'private' },
    versions: [],
  })
  const other = await gateway.signUp()
  expect(await gateway.data(customImages, {}, other)).toEqual([])
  for (const who of [other, {}]) {
    const seen = await gateway.call(getImage, { params: { id: row.id } }, who)
    expect(seen).toMatchObject({ httpStatus: 404, envelope: { code: 'not_found' } })
  }
  const nowhere = await gateway.call(customImagesIn, { params: { region: 'nowhere' } }, mine)
  expect(nowhere).toMatchObject({ httpStatus: 400, envelope: { code: 'region_not_supported' } })
})

test('[R2.3] [R3.4] guests see what the community has, with stars and deploys, and customers their own star', async () => {
  const { userId, token } = await gateway.signUp()
  const fan = await gateway.signUp()
  const id = 'im-community'
  const { db } = gateway.database
  const copy = published(userId, id)
  const { originId } = copy
  await db.insert(communityImage).values(copy)
  await db
    .insert(communityImageVersion)
    .values({ imageId: id, number: 1, versionInfo: 'one', sizeBytes: 1, createdAt: new Date() })
  await db.insert(imageStar).values({ imageId: id, userId: fan.userId, at: new Date() })
  await db.insert(imageDeploy).values([
    { imageId: id, userId: fan.userId, day: new Date().toISOString().slice(0, 10) },
    { imageId: id, userId: fan.userId, day: '2020-01-01' },
  ])
  const [shown] = await gateway.data(communityImages, {})
  expect(shown).toMatchObject({
    id,
    type: 'Community',
    author: 'Mira',
    stars: 1,
    starred: false,
    deploys: 2,
    deploys_week: 1,
  })
  expect((await gateway.data(communityImages, {}, fan))[0]).toMatchObject({ starred: true })
  expect(await gateway.data(communityImagesIn, { params: { region: 'eu-frankfurt' } })).toEqual([])
  expect(await gateway.data(getImage, { params: { id } })).toMatchObject({
    own: null,
    custom_image_id: null,
    versions: [{ number: 1, version_info: 'one', size: 1 }],
  })
  await db.insert(ownImage).values(keptImage(userId, { id: originId, communityId: id, status: 'community' }))
  expect(await gateway.data(getImage, { params: { id } }, { token })).toMatchObject({
    custom_image_id: originId,
  })
  const official = await gateway.data(getImage, { params: { id: 'pytorch' } })
  expect(official).toMatchObject({ type: 'Official', name: 'PyTorch', own: null })
})

test('[R3.4] stars and deploys are counted where they are given: the list of guests reads none of them', async () => {
  const { userId } = await gateway.signUp()
  const { db } = gateway.database
  const imageId = 'im-loved'
  await db.insert(communityImage).values(published(userId, imageId))
  await db.execute(
    sql`insert into image_star select ${imageId}, gen_random_uuid(), now() from generate_series(1, 500)`,
  )
  await db.execute(
    sql`insert into image_deploy select ${imageId}, gen_random_uuid(), current_date - n % 10 from generate_series(1, 5000) n`,
  )
  const seen = async () => (await gateway.data(communityImages, {})).find(({ id }) => id === imageId)
  expect(await seen()).toMatchObject({ stars: 500, deploys: 5_000, deploys_week: 3_500 })
  await db.transaction(async tx => {
    await tx.execute(sql`lock table image_star, image_deploy in access exclusive mode`)
    expect(await seen()).toMatchObject({ stars: 500 })
  })
  await db.delete(imageStar).where(eq(imageStar.imageId, imageId))
  await db.delete(imageDeploy).where(lt(imageDeploy.day, sql`current_date`))
  expect(await seen()).toMatchObject({ stars: 0, deploys: 500, deploys_week: 500 })
})

test('[R3.4] who deletes the account takes stars and deploys along: whoever signs up again and again counts once', async () => {
  const author = await gateway.signUp()
  const imageId = 'im-inflated'
  const { db } = gateway.database
  await db.insert(communityImage).values(published(author.userId, imageId))
  const fan = await gateway.signUp()
  const star = () => gateway.data(starImage, { params: { id: imageId } }, fan)
  expect(await star()).toMatchObject({ stars: 1 })
  expect(await star()).toMatchObject({ stars: 1 })
  await db.insert(imageDeploy).values({ imageId, userId: fan.userId, day: '2026-01-01' })
  const seen = async () => (await gateway.data(communityImages, {})).find(({ id }) => id === imageId)
  expect(await seen()).toMatchObject({ stars: 1, deploys: 1 })
  await gateway.data(deleteAccount, { body: { email: fan.email, password: '' } }, fan)
  await expect.poll(seen).toMatchObject({ stars: 0, deploys: 0 })
})

/** What the community has of an image that a customer published. */
function published(authorId: string, id: string): typeof communityImage.$inferInsert {
  const {
    id: originId = '',
    status: _s,
    statusSince: _t,
    engineId: _e,
    microPerGbDay: _p,
    nextAttemptAt: _n,
    userId: _u,
    ...said
  } = keptImage(authorId)
  return { ...said, id, originId, authorId, authorName: 'Mira', number: 1 }
}

test('an answer is due on the third working day, at whose end', () => {
  const dueAfter = (from: string) => workingDaysAfter(new Date(from), 3).toISOString()
  expect(dueAfter('2026-11-19T10:00:00Z')).toBe('2026-11-24T23:59:59.999Z')
  expect(dueAfter('2026-11-21T10:00:00Z')).toBe('2026-11-25T23:59:59.999Z')
  expect(dueAfter('2026-11-23T00:00:00Z')).toBe('2026-11-26T23:59:59.999Z')
})
