import { sendVerifyEmail, signup, verifyEmail } from '@berth/contract/account'
import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  names,
  secretIn,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { bodyOf, startMailServer } from '../../../../test/mail-server.ts'
import { createSmtpDriver } from '../../../drivers/mail/smtp.ts'
import { DAY_RULE } from '../throttles/mail-limits.ts'
import { ACTIVATION_LINK_HOURS } from './email-verification.ts'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

describe('an activation link', () => {
  test('[R7.1] verifies the address once; the second click says that it was used', async () => {
    const { email, secret } = await signedUp()
    expect((await click(secret)).data).toEqual({ email })
    expect((await click(secret)).code).toBe('verify_link_invalid')
  })

  test('lets one of twenty clicks at once through', async () => {
    const { secret } = await signedUp()
    const clicks = await Promise.all(Array.from({ length: 20 }, () => click(secret)))
    expect(clicks.filter(({ code }) => code === null)).toHaveLength(1)
    expect(clicks.filter(({ code }) => code === 'verify_link_invalid')).toHaveLength(19)
  })

  test('is over after a day', async () => {
    const { secret } = await signedUp()
    bench.advance(ACTIVATION_LINK_HOURS * 3_600_000)
    expect((await click(secret)).code).toBe('verify_link_invalid')
  })

  test('works while a newer one is there: the older mail may be the one that is opened', async () => {
    const { email, secret } = await signedUp()
    bench.advance(ACTIVATION_RESEND_WAIT_MS)
    expect((await resend(email)).code).toBeNull()
    const mails = await mailsTo(email, 2)
    const newer = secretIn(mails[0]?.text ?? '')
    expect(newer).not.toBe(secret)
    expect((await click(secret)).data).toEqual({ email })
    expect((await click(newer)).data).toEqual({ email })
  })

  test('is worthless once the account has another address', async () => {
    const { email, secret } = await signedUp()
    await bench.database.db.execute(
      sql`update user_account set email = ${`new-${email}`} where email = ${email}`,
    )
    expect((await click(secret)).code).toBe('verify_link_invalid')
  })

  test('that is made up, or asked for another application, is refused', async () => {
    const { secret } = await signedUp()
    expect((await click('made-up')).code).toBe('verify_link_invalid')
    const other = await bench.call(verifyEmail, { query: { application: 'other', token: secret } })
    expect(other).toMatchObject({ code: 'validation_failed', fields: ['application: not_allowed'] })
    expect((await click(secret)).code).toBeNull()
  })

  test('is stored as a hash alone, and is not at rest in the queue', async () => {
    const { secret, email } = await signedUp()
    const { rows } = await bench.database.db.execute<{ all: string }>(
      sql`select (select json_agg(t)::text from link_token t) || (select json_agg(j)::text from pgboss.job j) as all`,
    )
    expect(rows[0]?.all).toContain(email)
    expect(rows[0]?.all).not.toContain(secret)
  })
})

describe('asking for the mail again', () => {
  test('[R2.16] is answered a minute later at the earliest, and says how long to wait', async () => {
    const { email } = await signedUp()
    bench.advance(15_000)
    expect(await resend(email)).toMatchObject({ code: 'verify_mail_wait', number: 45 })
    bench.advance(45_000)
    expect((await resend(email)).code).toBeNull()
    expect(await resend(email)).toMatchObject({ code: 'verify_mail_wait', number: 60 })
    await mailsTo(email, 2)
  })

  test('sends one mail, however often it is asked at once', async () => {
    const { email } = await signedUp()
    bench.advance(ACTIVATION_RESEND_WAIT_MS)
    const answers = await Promise.all(Array.from({ length: 20 }, () => resend(email)))
    expect(answers.filter(({ code }) => code === null)).toHaveLength(1)
    expect(answers.filter(({ code }) => code === 'verify_mail_wait')).toHaveLength(19)
    await mailsTo(email, 2)
  })

  test('is answered the same whether an address is unknown, waiting or verified', async () => {
    const waiting = await signedUp()
    const verified = await signedUp()
    await click(verified.secret)
    bench.advance(ACTIVATION_RESEND_WAIT_MS)
    const addresses = ['unknown@example.com', waiting.email, verified.email]
    for (const round of ['sent', 'too early']) {
      const answers = []
      for (const email of addresses) answers.push(await resend(email))
      expect(new Set(answers.map(answer => JSON.stringify(answer))).size, round).toBe(1)
    }
    // A marker after them in the queue: when its mail is there, theirs would be too.
    await mailsTo(waiting.email, 2)
    await signedUp()
    expect(await bench.mailsTo('unknown@example.com')).toEqual([])
    expect(await bench.mailsTo(verified.email)).toHaveLength(1)
  })

  test('fills nobody’s mailbox: after ten mails it is over for the day', async () => {
    const email = 'target@example.com'
    for (let mail = 0; mail < DAY_RULE.max; mail++) {
      expect((await resend(email)).code).toBeNull()
      bench.advance(ACTIVATION_RESEND_WAIT_MS)
    }
    const refused = await resend(email)
    expect(refused.code).toBe('verify_mail_wait')
    expect(refused.number).toBeGreaterThan(23 * 3_600)
    bench.advance(24 * 3_600_000)
    expect((await resend(email)).code).toBeNull()
  })

  test('for another organization is refused at its field', async () => {
    const body = { ...names, organization: 'other', email: 'a@example.com', method: 'signup' as const }
    const answer = await bench.call(sendVerifyEmail, { body })
    expect(answer).toMatchObject({ code: 'validation_failed', fields: ['organization: not_allowed'] })
  })
})

test('signing up works while the mail server is down, and the mail comes when it is back', async () => {
  const server = await startMailServer()
  const driver = createSmtpDriver({ url: server.url, from: 'Berth <no-reply@berth.example>' })
  const remote = await createIdentityBench({ mailDriver: driver })
  try {
    await server.stop()
    const answer = await remote.call(signup, { body: signUpBody('patient@example.com', { language: 'ja' }) })
    expect(answer.data).toBe('berth/patient@example.com')
    await server.start()
    const mail = await eventually('the mail', async () => server.received[0])
    expect(mail.to).toEqual(['patient@example.com'])
    const token = secretIn(bodyOf(mail))
    const query = { application: names.application, token }
    expect((await remote.call(verifyEmail, { query })).data).toEqual({ email: 'patient@example.com' })
  } finally {
    await remote.close()
    driver.close()
    await server.stop()
  }
})

async function signedUp(): Promise<{ email: string; secret: string }> {
  count += 1
  const email = `someone-${count}@example.com`
  await bench.call(signup, { body: signUpBody(email) })
  const [mail] = await mailsTo(email, 1)
  return { email, secret: secretIn(mail?.text ?? '') }
}

async function mailsTo(email: string, wanted: number) {
  const mails = await eventually(`${wanted} mails to ${email}`, async () => {
    const found = await bench.mailsTo(email)
    return found.length >= wanted && found
  })
  expect(mails).toHaveLength(wanted)
  return mails
}

function click(token: string) {
  return bench.call(verifyEmail, { query: { application: names.application, token } })
}

function resend(email: string) {
  return bench.call(sendVerifyEmail, { body: { ...names, email, method: 'signup' } })
}
