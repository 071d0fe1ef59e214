import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createReferralFixture, type ReferralFixture } from './referral-fixture.ts'

/** Goal: an account is confirmed by whoever reads its mail now, and by nobody who found an old one (R5.11). */

let fixture: ReferralFixture
let mira: string
let turn = 0
beforeAll(async () => {
  fixture = await createReferralFixture()
})
beforeEach(async () => {
  turn += 1
  mira = await fixture.person()
})
afterAll(() => fixture.database.drop())

const email = () => `mira-${turn}@example.org`
/** Sends what waits. @returns The secret of the link that went out last. */
async function mailed(): Promise<string> {
  await fixture.sendMails()
  return /paypal=([\w-]+)/.exec(fixture.mails.at(-1)?.text ?? '')?.[1] ?? ''
}

test('[R5.11] a link counts for 48 hours', async () => {
  const { paypal } = fixture.referral
  await paypal.set(mira, email())
  const token = await mailed()
  fixture.clock.advance(48 * 3_600)
  await expect(paypal.confirm(mira, token)).rejects.toMatchObject({ code: 'paypal_link_invalid' })
  expect(await paypal.get(mira)).toMatchObject({ state: 'unconfirmed' })
  await paypal.resend(mira)
  const next = await mailed()
  fixture.clock.advance(48 * 3_600 - 1)
  expect(await paypal.confirm(mira, next)).toMatchObject({ state: 'confirmed' })
})

test('[R5.11] the newest link counts alone, and none of an address that was said before', async () => {
  const { paypal } = fixture.referral
  await paypal.set(mira, email())
  const first = await mailed()
  fixture.clock.advance(61)
  await paypal.resend(mira)
  const second = await mailed()
  await expect(paypal.confirm(mira, first)).rejects.toMatchObject({ code: 'paypal_link_invalid' })
  await paypal.set(mira, `other-${email()}`)
  await expect(paypal.confirm(mira, second)).rejects.toMatchObject({ code: 'paypal_link_invalid' })
  // One that was to go out for an address of before goes out no more.
  const third = await mailed()
  await paypal.set(mira, `third-${email()}`)
  await expect(paypal.confirm(mira, third)).rejects.toMatchObject({ code: 'paypal_link_invalid' })
  expect(await paypal.confirm(mira, await mailed())).toMatchObject({ paypal_account: `third-${email()}` })
})
