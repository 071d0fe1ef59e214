import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/identity-bench.ts'
import { bodyOf, type MailServer, startMailServer } from '../../../test/mail-server.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createIds } from '../../platform/ids.ts'
import { createJobs, type Jobs } from '../../platform/jobs/jobs.ts'
import { createMailQueue } from './mail-queue.ts'
import { createMailboxDriver, MAILBOX_MAILS_MAX } from './mailbox.ts'
import type { MailDriver, MailOutbox, QueueMail } from './port.ts'
import { createSmtpDriver } from './smtp.ts'

const log = pino({ level: 'silent' })
const FROM = 'Berth <no-reply@berth.example>'

interface Note {
  to: string
  words: string
}

let database: TestDatabase
let server: MailServer
let closing: (() => Promise<void> | void)[]
beforeEach(async () => {
  closing = []
  database = await createTestDatabase()
  server = await startMailServer()
})
afterEach(async () => {
  for (const close of closing) await close()
  await server.stop()
  await database.drop()
})

describe('the mail queue', () => {
  test('sends what was committed, and never what was rolled back', async () => {
    const { note } = await startQueue(smtp())
    await expect(
      database.db.transaction(async tx => {
        await note(tx, { to: 'rolled-back@example.com', words: 'no' })
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    await database.db.transaction(tx => note(tx, { to: 'committed@example.com', words: 'yes' }))
    await receivedBy('committed@example.com')
    expect(server.offered).toEqual(['committed@example.com'])
  })

  test('outlives an outage of the mail server', async () => {
    const { note } = await startQueue(smtp())
    await server.stop()
    await note(database.db, { to: 'patient@example.com', words: 'hello' })
    await eventually('a first try', async () => (await retries()) > 0)
    await server.start()
    await receivedBy('patient@example.com')
    await eventually('the job is done', async () => (await states()).every(state => state === 'completed'))
    expect(server.received).toHaveLength(1)
  })

  test('outlives a crash of the gateway: another one sends what waits', async () => {
    const first = await startQueue({ name: 'down', send: () => Promise.reject(new Error('down')) })
    await first.note(database.db, { to: 'waiting@example.com', words: 'hello' })
    await eventually('a first try', async () => (await retries()) > 0)
    await first.jobs.stop()
    await startQueue(smtp())
    await receivedBy('waiting@example.com')
  })

  test('goes on after the database broke every connection', async () => {
    const { note } = await startQueue(smtp())
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    )
    await eventually('a mail is queued', async () => {
      return await note(database.db, { to: 'after-all@example.com', words: 'hello' }).then(
        () => true,
        () => false,
      )
    })
    await receivedBy('after-all@example.com')
  })

  test('tries again what was refused for now, and leaves what was refused for good', async () => {
    const { note } = await startQueue(smtp())
    await note(database.db, { to: 'nobody@example.com', words: 'hello' })
    await eventually('the refusal is final', async () => (await states()).includes('completed'))
    await note(database.db, { to: 'later@example.com', words: 'hello' })
    await eventually(
      'a second try',
      async () => server.offered.filter(to => to.startsWith('later')).length > 1,
    )
    expect(server.offered.filter(to => to.startsWith('nobody'))).toHaveLength(1)
    expect(server.received).toEqual([])
  })

  test('sends nothing when there is nothing to send after all', async () => {
    const { note } = await startQueue(smtp())
    await note(database.db, { to: 'nothing@example.com', words: '' })
    await eventually('the job is done', async () => (await states()).includes('completed'))
    expect(server.offered).toEqual([])
  })

  test('keeps the kind of a mail to one composer', async () => {
    const { queue } = await startQueue(smtp())
    expect(() => queue.define('note', async () => null)).toThrow('two mails are called note')
  })
})

describe('the SMTP driver', () => {
  test('sends plain text in any language, marked as automatic and with an id that stays', async () => {
    const mail = {
      id: '0198b5a0-0000-7000-8000-000000000001',
      to: 'ada@example.com',
      subject: '계정을 활성화해 주세요',
      text: 'こんにちは。\n\nhttps://berth.example/activty?token=abc_-9\n',
    }
    await smtp().send(mail)
    const [received] = server.received
    expect(received).toMatchObject({ from: 'no-reply@berth.example', to: ['ada@example.com'] })
    expect(received?.raw).toMatch(/^From: Berth <no-reply@berth\.example>/m)
    expect(received?.raw).toContain(`Message-ID: <${mail.id}@berth>`)
    expect(received?.raw).toContain('Auto-Submitted: auto-generated')
    expect(received?.raw).toMatch(/^Content-Type: text\/plain; charset=utf-8/m)
    expect(received && bodyOf(received).trimEnd()).toBe(mail.text.trimEnd())
  })

  test('an address cannot add a recipient or a header', async () => {
    await smtp()
      .send({ id: 'x', to: 'a@example.com, b@example.com\r\nBcc: c@example.com', subject: 's', text: 't' })
      .catch(() => {})
    expect(server.received.flatMap(({ to }) => to)).not.toContain('b@example.com')
    expect(server.received.flatMap(({ to }) => to)).not.toContain('c@example.com')
    expect(server.received.map(({ raw }) => raw).join()).not.toMatch(/^Bcc:/m)
  })
})

test('the mailbox keeps a mail once, and only the newest ones', async () => {
  let now = Date.parse('2026-03-01T12:00:00Z')
  const clock = { now: () => new Date(now) }
  const ids = createIds(clock)
  const mailbox = createMailboxDriver({ db: database.db, clock })
  const mails = Array.from({ length: MAILBOX_MAILS_MAX + 5 }, (_, index) => ({
    id: ids.uuid(),
    to: 'ada@example.com',
    subject: `mail ${index}`,
    text: 'text',
  }))
  for (const mail of mails) {
    now += 1_000
    await mailbox.send(mail)
    await mailbox.send(mail)
  }
  const kept = await mailbox.list()
  expect(kept).toHaveLength(MAILBOX_MAILS_MAX)
  expect(kept[0]?.subject).toBe(`mail ${mails.length - 1}`)
  expect(kept.at(-1)?.subject).toBe('mail 5')
})

function smtp(): MailDriver {
  const driver = createSmtpDriver({ url: server.url, from: FROM })
  closing.push(driver.close)
  return driver
}

async function startQueue(
  driver: MailDriver,
): Promise<{ queue: MailOutbox; jobs: Jobs; note: QueueMail<Note> }> {
  const jobs = createJobs({ database, log })
  const queue = createMailQueue({ jobs, driver, log, retryFirstSeconds: 1 })
  const note = queue.define<Note>('note', async ({ to, words }) =>
    words === '' ? null : { to, subject: 'a note', text: words },
  )
  await jobs.start()
  closing.unshift(jobs.stop)
  return { queue, jobs, note }
}

async function receivedBy(to: string): Promise<void> {
  await eventually(`a mail to ${to}`, async () => server.received.some(mail => mail.to.includes(to)))
}

async function states(): Promise<string[]> {
  const { rows } = await database.db.execute<{ state: string }>(
    sql`select state::text as state from pgboss.job where name = 'mail'`,
  )
  return rows.map(({ state }) => state)
}

async function retries(): Promise<number> {
  const { rows } = await database.db.execute<{ n: number }>(
    sql`select count(*)::int as n from pgboss.job where name = 'mail' and state = 'retry'`,
  )
  return rows[0]?.n ?? 0
}
