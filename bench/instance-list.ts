// The list of an account with 10,000 instances: a page by cursor beside the whole list and the bare SQL, with few and with
// many rows of other customers; and in a browser frames while it is scrolled, and how long filters and searches take.
import { pageInstances } from '@berth/contract/instance-paging'
import { listInstances } from '@berth/contract/instances'
import { INSTANCE_PAGE_SIZE_DEFAULT, INSTANCE_PAGE_SIZE_MAX } from '@berth/contract/limits'
import { chromium, type Page } from 'playwright-core'
import { type OpenDatabase, openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { findChromium } from '../e2e/chromium.ts'
import { databaseUrlOf } from './lib/database-url.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns } from './lib/rounds.ts'

const OWN = 10_000
const OTHERS = [1, 200] as const
const ROWS_OF_EACH_OTHER = 500
const ROUNDS = 25
/** The whole list is some 15 MB each time. */
const WHOLE_ROUNDS = 3
const BROWSER_ROUNDS = 4
const FRAMES = 240
/** Two rows each frame: at 60 frames a second that is 7,200 rows a minute. */
const PX_PER_FRAME = 122
const ANSWER_AIM_MS = 100
/** Of the frames that the same browser draws of a page of plain text. */
const FRAMES_AIM = 0.95
const FILL_MS = 300_000

const gateway = await startGatewayProcess({ BERTH_INSTANCES_PER_CUSTOMER: String(OWN) })
try {
  const database = openDatabase({
    url: databaseUrlOf(gateway.dataDir),
    log: createLog({ level: 'error', pretty: false }),
    poolSize: 1,
  })
  const { rows } = await database.pool.query<{ user_id: string }>('select user_id from wallet limit 1')
  const userId = rows[0]?.user_id ?? ''
  await fill(database.pool, `'${userId}'::uuid`, OWN, 'o')
  let there = 0
  for (const others of OTHERS) {
    for (; there < others; there++)
      await fill(database.pool, 'gen_random_uuid()', ROWS_OF_EACH_OTHER, `x${there}`)
    await database.pool.query('vacuum analyze instance')
    await comparePages(gateway, database.pool, userId, others)
  }
  await database.close()
  await compareBrowser(gateway)
} finally {
  await gateway.stop()
}

/** Writes instances of one customer that rest: a machine of its own for each would be another bench. */
async function fill(pool: OpenDatabase['pool'], user: string, count: number, prefix: string): Promise<void> {
  const text = `
    insert into instance (id, user_id, name, kind, region_code, gpu_spec_id, gpu_count, simulated, spec, gpu_uuids,
        image_id, billing_type, container_disk_gb, http_ports, tcp_ports, env, start_command,
        running_micro_per_hour, stopped_micro_per_hour, service_secret, desired, status, status_since,
        next_attempt_at, created_at, stopped_at)
      select 'i-' || '${prefix}' || lpad(n::text, 6, '0'), owner.id, 'worker-' || n, 'POD', 'us-west', 'rtx4090', 1, true,
        '{"name": "RTX 4090", "gpu": true, "vram_gb": 24, "vcpu": 12, "memory_gb": 64}', '[]',
        'berth-base', 'postpay', 20, '[]', '[]', '{}', '', 420000, 0, 'bench-${prefix}-' || n, 'stopped',
        case when n % 4 = 0 then 'exited' when n % 100 = 1 then 'error' else 'stopped' end, now(),
        now() + interval '1 year', now() - make_interval(mins => n), now()
      from generate_series(1, ${count}) n, (select ${user} as id) owner`
  await pool.query({ text, query_timeout: FILL_MS } as { text: string })
}

async function comparePages(
  { call }: GatewayProcess,
  pool: OpenDatabase['pool'],
  userId: string,
  others: number,
): Promise<void> {
  const words = `, ${others} other ${others === 1 ? 'customer' : 'customers'}`
  const middle = await cursorInTheMiddle(call)
  const bareText = `select * from instance where user_id = $1 and terminated_at is null
    and (created_at, id) < (now() - interval '5000 minutes', 'i') order by created_at desc, id desc limit $2`
  const timed = async (work: () => Promise<unknown>) => {
    const startedAt = performance.now()
    await work()
    return performance.now() - startedAt
  }
  for (const limit of [INSTANCE_PAGE_SIZE_DEFAULT, INSTANCE_PAGE_SIZE_MAX]) {
    const { ours, bare } = await inTurns(ROUNDS, {
      ours: () => timed(() => call(pageInstances, { query: { cursor: middle, limit } })),
      bare: () => timed(() => pool.query(bareText, [userId, limit + 1])),
    })
    print(`a page of ${limit} by cursor, from the middle${words}`, ours, bare, 'bare SQL')
  }
  const whole = await inTurns(WHOLE_ROUNDS, {
    ours: () =>
      timed(() => call(pageInstances, { query: { cursor: middle, limit: INSTANCE_PAGE_SIZE_DEFAULT } })),
    bare: () => timed(() => call(listInstances, {})),
  })
  print(
    `a page of ${INSTANCE_PAGE_SIZE_DEFAULT}, beside the whole list${words}`,
    whole.ours,
    whole.bare,
    'the whole list',
  )
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, buffers, timing off) ${bareText}`,
    [userId, INSTANCE_PAGE_SIZE_DEFAULT + 1],
  )
  console.log(rows.map(row => `    ${row['QUERY PLAN']}`).join('\n'))
}

async function cursorInTheMiddle(call: GatewayProcess['call']): Promise<string> {
  let cursor: string | undefined
  for (let read = 0; read < OWN / 2; read += INSTANCE_PAGE_SIZE_MAX) {
    const query = { limit: INSTANCE_PAGE_SIZE_MAX, ...(cursor && { cursor }) }
    cursor = (await call(pageInstances, { query })).next_cursor ?? undefined
  }
  return cursor ?? ''
}

function print(what: string, ours: readonly number[], bare: readonly number[], beside: string): void {
  printFigure({
    what,
    ours: `${median(ours).toFixed(1)} ms`,
    bare: `${median(bare).toFixed(1)} ms (${beside})`,
    compared: `ratio ${(median(ours) / median(bare)).toFixed(2)}`,
    aim: null,
  })
}

async function compareBrowser({ origin, token }: GatewayProcess): Promise<void> {
  const executablePath = findChromium()
  const browser = await chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await page.addInitScript(value => localStorage.setItem('berth.token', value), token)
    await page.goto(`${origin}/instance-list`)
    await page.locator(`table[aria-rowcount="${OWN + 1}"]`).waitFor()
    const plain = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    const lines = Array.from({ length: OWN }, (_, at) => `<p>worker-${at}</p>`).join('')
    await plain.setContent(`<style>p { height: 61px; margin: 0 }</style>${lines}`)
    const { ours, bare } = await inTurns(BROWSER_ROUNDS, {
      ours: () => inFront(page, framesPerSecond),
      bare: () => inFront(plain, framesPerSecond),
    })
    printFigure({
      what: `frames a second while ${OWN} instances are scrolled`,
      ours: `${median(ours).toFixed(1)} (least ${quantile(ours, 0).toFixed(1)})`,
      bare: `${median(bare).toFixed(1)} (lines of text)`,
      compared: `ratio ${(median(ours) / median(bare)).toFixed(2)}`,
      aim: {
        says: `at least ${FRAMES_AIM} of what the browser draws`,
        met: median(ours) >= FRAMES_AIM * median(bare),
      },
    })
    await page.bringToFront()
    await page.evaluate(() => window.scrollTo(0, 0))
    printAnswer('a filter', await answersOf(page, 'filter'))
    printAnswer('a letter of a search', await answersOf(page, 'search'))
  } finally {
    await browser.close()
  }
}

function printAnswer(what: string, took: { ours: number[]; bare: number[] }): void {
  const slowest = quantile(took.ours, 0.95)
  printFigure({
    what: `${what} over ${OWN} instances, until the frame with the rows is drawn`,
    ours: `${median(took.ours).toFixed(0)} ms (p95 ${slowest.toFixed(0)})`,
    bare: `${median(took.bare).toFixed(0)} ms (a frame with nothing new)`,
    compared: `${(median(took.ours) - median(took.bare)).toFixed(0)} ms more`,
    aim: { says: `under ${ANSWER_AIM_MS} ms`, met: slowest < ANSWER_AIM_MS },
  })
}

async function inFront(page: Page, measure: (page: Page) => Promise<number>): Promise<number> {
  await page.bringToFront()
  return measure(page)
}

/** Scrolls a bit in each frame, and counts how many there are in a second. */
function framesPerSecond(page: Page): Promise<number> {
  return page.evaluate(
    ([frames, step]) =>
      new Promise<number>(resolve => {
        window.scrollTo(0, 0)
        let count = -10
        let began = 0
        const next = (now: number) => {
          count += 1
          if (count === 0) began = now
          if (count === frames) return resolve((count / (now - began)) * 1_000)
          window.scrollBy(0, step)
          requestAnimationFrame(next)
        }
        requestAnimationFrame(next)
      }),
    [FRAMES, PX_PER_FRAME] as const,
  )
}

/** Presses filters, or types letters, in turns with nothing; each until two frames later, as the page's own clock says. */
function answersOf(page: Page, what: 'filter' | 'search'): Promise<{ ours: number[]; bare: number[] }> {
  return page.evaluate(async kind => {
    const drawn = () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const timed = async (act: () => void) => {
      await drawn()
      const began = performance.now()
      act()
      await drawn()
      return performance.now() - began
    }
    const field = document.querySelector<HTMLInputElement>('main input[type=search]')
    const radios = [...document.querySelectorAll<HTMLInputElement>('main fieldset input[type=radio]')]
    const type = (text: string) => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field, text)
      field?.dispatchEvent(new Event('input', { bubbles: true }))
    }
    const words = [
      'w',
      'wo',
      'wor',
      'worker-7',
      'worker-77',
      'worker-777',
      'worker-7',
      'berth',
      'none such',
      '',
    ]
    const acts: (() => void)[] =
      kind === 'search'
        ? words.map(text => () => type(text))
        : [3, 4, 0, 3, 0, 4, 3, 0].map(at => () => radios[at]?.click())
    const took = { ours: [] as number[], bare: [] as number[] }
    for (const act of acts) {
      const before = document.querySelector('main table')?.getAttribute('aria-rowcount')
      took.ours.push(await timed(act))
      took.bare.push(await timed(() => undefined))
      const after = document.querySelector('main table')?.getAttribute('aria-rowcount')
      if (kind === 'filter' && before === after) throw new Error('A filter changed nothing.')
    }
    return took
  }, what)
}
