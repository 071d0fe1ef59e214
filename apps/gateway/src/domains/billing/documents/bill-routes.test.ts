import { randomUUID } from 'node:crypto'
import type { Bill, BillLine, BillStretch } from '@berth/contract/bills'
import type { InstanceStatus } from '@berth/contract/instance-states'
import { LANGUAGES } from '@berth/contract/limits'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer, TOKENS } from '../../../../test/test-server.ts'
import { type BillingFixture, createBillingFixture, instance } from '../billing-fixture.ts'
import { billingRoutes } from '../routes.ts'

let fixture: BillingFixture
let server: TestServer
const userId = TOKENS.anna?.userId ?? ''

/** What became of Anna's machine: it was stopped for its limit, which took it twenty seconds. */
const EVENTS = (
  [
    ['2026-03-10T11:59:30.000Z', 'starting', 'started_by_customer'],
    ['2026-03-10T12:00:00.000Z', 'running', 'ready'],
    ['2026-03-10T15:00:00.000Z', 'running', 'renamed'],
    ['2026-03-11T00:59:40.000Z', 'stopping', 'stopped_at_limit'],
    ['2026-03-11T01:00:00.000Z', 'stopped', 'stopped'],
    ['2026-03-11T01:30:00.000Z', 'stopped', 'stop_rules_changed'],
  ] as const
).map(([at, status, code]) => ({ at: new Date(at), status: status as InstanceStatus, code, detail: '' }))

/** Anna in March: a machine that ran over midnight and keeps its disk since, a volume, an image; the books a day behind. */
beforeAll(async () => {
  fixture = await createBillingFixture()
  const { billing, db, clock } = fixture
  server = await startTestServer(
    db,
    billingRoutes(
      billing,
      {
        eventsBetween: async (_, { userId: of, instanceId, from, to }) =>
          EVENTS.filter(({ at }) => of === userId && instanceId === 'i-1' && at >= from && at <= to),
        losesMachines: async () => false,
      },
      english => english,
    ),
    { clock },
  )
  for (const one of Object.values(TOKENS)) {
    await db.transaction(tx => billing.openWallet(tx, { userId: one.userId, currency: 'USD' }))
  }
  const grant = { id: randomUUID(), userId, amountMicro: 10_000_000n, kind: 'demo', reason: 'demo' } as const
  await db.transaction(tx => billing.grantCredit(tx, grant))
  await fixture.open({ userId, instanceId: 'i-1', instanceName: 'llama' })
  clock.advance(6 * 3_600)
  await fixture.post()
  clock.advance(7 * 3_600)
  await fixture.open({
    userId,
    instanceId: 'i-1',
    instanceName: 'llama-2',
    usage: 'disk',
    rateMicroPerHour: 36_000n,
  })
  for (const [kind, id, name] of [
    ['network_volume', 'v-1', '=SUM(A1:A9)'],
    ['image', 'im-1', 'a "quoted", image'],
  ] as const) {
    await db.transaction(tx =>
      billing.openMeters(tx, {
        userId,
        subject: { kind, id },
        name,
        meters: [{ sku: `${kind}.gb`, label: '+10 GB', unit: 'gb_day', quantity: 10, rateMicro: 24_000n }],
        stopsWhenEmpty: false,
        at: clock.now(),
      }),
    )
  }
  clock.advance(3_600)
})
afterAll(async () => {
  await server.close(1_000)
  await fixture.database.drop()
})

test('[R7.5] the months in which something was used, with what the balance has less', async () => {
  const { http, data } = await ask<object>('/api/order/bill_duration')
  const sum = {
    amount_micro: '10000000',
    cash_micro: '0',
    credits_micro: '10000000',
    waived_micro: '3056000',
  }
  expect(http).toBe(200)
  expect(data).toEqual({ currency: 'USD', months: [{ month: '2026-03', ...sum }] })
  expect((await ask<object>('/api/order/bill_duration', 'ben')).data).toEqual({ currency: 'USD', months: [] })
})

test('[R7.5] a bill has a line for each thing, in which a machine and its disk are parts, with what is not posted yet', async () => {
  const { data } = await ask<Bill>('/api/bill/order?month=2026-03')
  expect(data).toMatchObject({
    month: '2026-03',
    from: '2026-03-01T00:00:00.000Z',
    until: '2026-03-11T02:00:00.000Z',
    total: 3,
    sum: { amount_micro: '10000000', waived_micro: '3056000' },
  })
  expect(data.kinds.map(({ usage }) => usage)).toEqual(['compute', 'disk', 'volume', 'image'])
  expect(data.items.map(({ id }) => id)).toEqual(['instance:i-1', 'image:im-1', 'network_volume:v-1'])
  expect(data.items[0]).toMatchObject({
    // As it was called last.
    subject: { kind: 'instance', id: 'i-1', name: 'llama-2', gpu_spec_name: 'RTX 4090', gpu_count: 1 },
    usage: 'compute',
    parts: [
      { usage: 'compute', stretches: 1, seconds: 13 * 3_600 },
      { usage: 'disk', stretches: 1, seconds: 3_600 },
    ],
    from: '2026-03-10T12:00:00.000Z',
    until: null,
  })
})

test('[R7.5] by day each day has what was used on it, the newest first, and by kind each kind', async () => {
  const { data: days } = await ask<Bill>('/api/bill/order?month=2026-03&group=day')
  expect(days.items.map(({ date, seconds, usage }) => [date, seconds, usage])).toEqual([
    ['2026-03-11', 4 * 3_600, null],
    ['2026-03-10', 12 * 3_600, null],
  ])
  const { data: kinds } = await ask<Bill>('/api/bill/order?month=2026-03&group=kind&page=2&page_size=3')
  expect(kinds.total).toBe(4)
  expect(kinds.items.map(({ id, usage }) => [id, usage])).toEqual([['image', 'image']])
})

test('[R7.5] a search narrows lines, sums and what they open to', async () => {
  const { data } = await ask<Bill>('/api/bill/order?month=2026-03&search=llama-2')
  expect([data.total, data.items[0]?.parts.map(({ usage }) => usage)]).toEqual([1, ['disk']])
  const opened = await open('instance:i-1', '&search=llama-2')
  expect(opened.data.items.map(({ usage }) => usage)).toEqual(['disk'])
  expect(opened.data.line.amount_micro).toBe(data.sum.amount_micro)
  // By id, and an underscore is one.
  expect((await ask<Bill>('/api/bill/order?month=2026-03&search=V-1')).data.total).toBe(1)
  expect((await ask<Bill>('/api/bill/order?month=2026-03&search=_')).data.total).toBe(0)
})

test('[R7.5] [B2] a line opens to its stretches, and each of them to its receipt', async () => {
  const { data } = await open('instance:i-1', '&page_size=1&page=2')
  expect(data).toMatchObject({ total: 2, line: { id: 'instance:i-1' }, currency: 'USD' })
  const [stretch] = data.items
  expect(stretch).toMatchObject({
    usage: 'compute',
    charge: 'by_time',
    started_at: '2026-03-10T12:00:00.000Z',
    ended_at: '2026-03-11T01:00:00.000Z',
    seconds: 13 * 3_600,
    rate_micro: '1000000',
    rate_seconds: 3_600,
    meters: [{ label: 'RTX 4090', unit: 'hour', quantity: 1, rate_micro: '1000000' }],
  })
  const receipt = await ask<{ interval: object }>(`/api/bill/transaction/${stretch?.receipt_id}`)
  expect(receipt.data.interval).toMatchObject({ posted_micro: stretch?.amount_micro })
  const day = await ask<Opened>('/api/bill/order/line?month=2026-03&group=day&line=2026-03-10')
  expect(day.data.items).toMatchObject([{ seconds: 12 * 3_600, until: '2026-03-11T00:00:00.000Z' }])
})

test('[R7.5] [B2] a stretch says what began and what ended it, and nothing of what its events do not say', async () => {
  const { data } = await open('instance:i-1')
  expect(data.items.map(({ usage, began_by, ended_by }) => [usage, began_by, ended_by])).toEqual([
    ['disk', 'stopped', null],
    ['compute', 'ready', 'stopped_at_limit'],
  ])
  const volume = await open('network_volume:v-1')
  expect(volume.data.items).toMatchObject([{ began_by: null, ended_by: null }])
})

test('[R3.10] what an image costs is not called a machine in the list of transactions', async () => {
  const { data } = await ask<{ items: { about: object }[] }>('/api/bill/transaction?search=quoted')
  expect(data.items[0]?.about).toMatchObject({
    usage: 'image',
    image_name: 'a "quoted", image',
    instance_name: null,
    volume_name: null,
  })
})

test('[R7.5] spending by day says of what kind it was', async () => {
  const { data } = await ask<{ days: { date: string; kinds: { usage: string; amount_micro: string }[] }[] }>(
    '/api/bill/spend?days=2',
  )
  expect(data.days).toMatchObject([
    { date: '2026-03-10', kinds: [{ usage: 'compute', amount_micro: '10000000' }] },
    { date: '2026-03-11', kinds: [] },
  ])
})

test.each([
  ['order?month=2026-13', 'month', 'not_allowed'],
  ['order?month=1999-12', 'month', 'not_allowed'],
  ['order?month=3000-01', 'month', 'not_allowed'],
  ['order?month=2026-3', 'month', 'not_allowed'],
  ['order', 'month', 'required'],
  ['order?month=2026-03&group=year', 'group', 'not_allowed'],
  [`order?month=2026-03&search=${'x'.repeat(101)}`, 'search', 'too_long'],
  ['order?month=2026-03&page_size=101', 'page_size', 'too_large'],
  ['order/line?month=2026-03', 'line', 'required'],
  ['order/download?month=2026-00', 'month', 'not_allowed'],
])('[R7.5] %s is refused at its field', async (path, field, rule) => {
  expect(await ask(`/api/bill/${path}`)).toMatchObject({
    http: 400,
    code: rule === 'required' ? 'required_fields' : 'validation_failed',
    fields: [{ path: field, rule }],
  })
})

test("[R6.4] another customer's line, an unknown one and one of another month get the same answer", async () => {
  const answers = [
    await open('instance:i-1', '', 'ben'),
    await open('instance:i-none'),
    await ask<Opened>('/api/bill/order/line?month=2026-02&line=instance%3Ai-1'),
    await ask<Opened>('/api/bill/order/line?month=2026-03&group=day&line=instance%3Ai-1'),
  ]
  for (const answer of answers) expect(answer).toMatchObject({ http: 404, code: 'not_found' })
  expect((await ask<Bill>('/api/bill/order?month=2026-03', 'ben')).data.items).toEqual([])
})

test('[R6.1] a guest is refused', async () => {
  for (const path of [
    'bill/order?month=2026-03',
    'bill/order/download?month=2026-03',
    'order/bill_duration',
  ]) {
    expect(await ask(`/api/${path}`, null)).toMatchObject({ http: 401, code: 'login_required' })
  }
})

test('[R7.5] the file has a row for each stretch and day, exact, and no cell of it is a formula', async () => {
  const { headers, text } = await download('anna', 'en')
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toContain('filename="usage-2026-03.csv"')
  const lines = text.split('\r\n')
  expect(lines.at(-1)).toBe('')
  expect(lines[0]).toMatch(/^Day \(UTC\),Kind of usage,Resource,Id,Name,/)
  expect(lines.slice(1, -1).map(line => line.split(',')[0])).toEqual([
    '2026-03-10',
    ...Array.from({ length: 4 }, () => '2026-03-11'),
  ])
  expect(lines[1]).toMatch(
    /^2026-03-10,compute,instance,i-1,llama,RTX 4090,1,hour,1\.000000,1\.000000,3600,2026-03-10T12:00:00\.000Z,2026-03-11T00:00:00\.000Z,43200,10\.000000,0\.000000,10\.000000,2\.000000,USD,u_/,
  )
  expect(text).toContain(",v-1,'=SUM(A1:A9),'+10 GB,")
  expect(text).toContain(',"a ""quoted"", image",')
  expect((await download('anna', 'en', '&search=v-1')).text.split('\r\n')).toHaveLength(3)
  const heads = await Promise.all(LANGUAGES.map(language => download('anna', language)))
  expect(new Set(heads.map(({ text: one }) => one.split('\r\n')[0])).size).toBe(LANGUAGES.length)
})

test.each(['=1', '+1', '-1', '@A1', '\t=1', '＝1'])(
  '[R7.5] a name that is %j does nothing in a spreadsheet',
  async name => {
    const subject = instance(`i-${randomUUID()}`)
    const meters = [{ sku: 'compute.x', label: 'x', unit: 'hour' as const, quantity: 1, rateMicro: 0n }]
    const start = { userId: TOKENS.idle?.userId ?? '', subject, name, meters, stopsWhenEmpty: false }
    await fixture.db.transaction(tx => fixture.billing.openMeters(tx, { ...start, at: fixture.clock.now() }))
    const { text } = await download('idle', 'en')
    expect(text).toContain(`,${subject.id},'${name},`)
  },
)

test('[R7.5] what is counted is told in its unit: 8 tokens are not 8 million', async () => {
  const { clock, db } = fixture
  const subject = { kind: 'model_call', id: randomUUID() } as const
  const meters = [
    { sku: 'model.m.input', label: 'M', unit: 'million_tokens' as const, quantity: 8, rateMicro: 150_000n },
  ]
  const used = { userId: TOKENS.idle?.userId ?? '', subject, name: 'counted', meters, at: clock.now() }
  await db.transaction(tx => fixture.billing.chargeOnce(tx, used))
  const { text } = await download('idle', 'en', '&search=counted')
  expect(text).toContain(',M,0.000008,million_tokens,0.150000,')
  // All that a call of a model counted stands in its row, not its main meter alone.
  const call = { kind: 'model_call', id: randomUUID() } as const
  const parts = { input: 8, cached: 5, output: 21, image: 2 }
  const counted = Object.entries(parts).map(([part, quantity]) => ({
    ...{ sku: `model.a/m.1.${part}`, label: part, quantity, rateMicro: 1_000_000n },
    unit: part === 'image' ? ('image' as const) : ('million_tokens' as const),
  }))
  await db.transaction(tx =>
    fixture.billing.chargeOnce(tx, { ...used, subject: call, name: 'many', meters: counted }),
  )
  const many = await download('idle', 'en', '&search=many')
  const [head = '', row = ''] = many.text.trimEnd().split('\r\n')
  expect(head).toMatch(/,"?Tokens in, of models"?,Of those cached,Tokens out,Pictures made,Seconds of film$/)
  expect(row).toMatch(/,13,5,21,2,0$/)
  const idle = await download('idle', 'en')
  expect(idle.text).toMatch(/,instance,[^\r]*,,,,,\r\n/)
})

test('[R7.5] five thousand rows come at once, each of them once', async () => {
  const { db, ids } = fixture
  const ben = TOKENS.ben?.userId ?? ''
  const rows = Array.from({ length: 5_000 }, (_, at) => ({ id: ids.uuid(), day: (at % 9) + 1 }))
  await db.execute(sql`
    insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty, rate_micro,
        rate_seconds, started_at, ended_at, credits_micro, cash_micro, waived_micro, posted_until)
      select id, ${ben}, 'instance', 'i-' || id, 'one', 'by_time', true, 1, 1, make_date(2026, 3, day), make_date(2026, 3, day),
        0, 1, 0, make_date(2026, 3, day)
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (id uuid, day int)`)
  await db.execute(sql`
    insert into usage_day select id, user_id, started_at::date, 'cash', false, 1, 1 from usage_interval where user_id = ${ben}`)
  const startedMs = performance.now()
  const { text } = await download('ben', 'en')
  const lines = text.trimEnd().split('\r\n').slice(1)
  expect(lines).toHaveLength(5_000)
  expect(new Set(lines.map(line => line.split(',')[3])).size).toBe(5_000)
  expect(lines.map(line => line.split(',')[0])).toEqual(lines.map(line => line.split(',')[0]).sort())
  // A second or less where nothing else runs; what reads each page from the beginning takes far longer.
  expect(performance.now() - startedMs).toBeLessThan(15_000)
})

test('[R7.5] each day is in the bill of one month, the first of the next one too', async () => {
  const { clock } = fixture
  clock.advance((Date.parse('2026-04-01T05:00:00.000Z') - clock.now().getTime()) / 1_000)
  await fixture.post()
  clock.advance(3_600)
  const { data } = await ask<{ months: { month: string }[] }>('/api/order/bill_duration')
  expect(data.months.map(({ month }) => month)).toEqual(['2026-04', '2026-03'])
  for (const { month, ...sum } of data.months) {
    const bill = await ask<Bill>(`/api/bill/order?month=${month}&group=day`)
    expect(bill.data.sum).toEqual(sum)
    expect(bill.data.items.filter(({ date }) => !date?.startsWith(month))).toEqual([])
    const { text } = await download('anna', 'en', '', month)
    const days = text.trimEnd().split('\r\n').slice(1)
    expect(days.filter(line => !line.startsWith(month))).toEqual([])
  }
})

interface Opened {
  currency: string
  line: BillLine
  items: BillStretch[]
  total: number
}

function open(line: string, more = '', token = 'anna') {
  return ask<Opened>(`/api/bill/order/line?month=2026-03&line=${encodeURIComponent(line)}${more}`, token)
}

function send(path: string, token: string | null, language = 'en'): Promise<Response> {
  const headers = { 'accept-language': language, ...(token && { authorization: `Bearer ${token}` }) }
  return fetch(`${server.origin}/gateway${path}`, { headers })
}

async function ask<Data>(path: string, token: string | null = 'anna') {
  const response = await send(path, token)
  const { request_id: _, ...envelope } = (await response.json()) as {
    data: Data
    code?: string
    request_id?: string
  }
  return { http: response.status, ...envelope }
}

async function download(token: string, language: string, more = '', month = '2026-03') {
  const response = await send(`/api/bill/order/download?month=${month}${more}`, token, language)
  return { headers: response.headers, text: await response.text() }
}
