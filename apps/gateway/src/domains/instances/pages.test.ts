import type { CallInput } from '@berth/contract/call'
import { pageInstances } from '@berth/contract/instance-paging'
import { listInstances } from '@berth/contract/instances'
import { INSTANCE_PAGE_SIZE_MAX } from '@berth/contract/limits'
import { eq, inArray, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { addInstanceRows, type MadeRow } from '../../../test/many-instances.ts'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { instance } from './tables.ts'

/** What happens to a customer's instances between two pages. */
type Happening =
  | { kind: 'deploy'; minute: number }
  | { kind: 'remove'; which: number }
  | { kind: 'change'; which: number }

const MINUTE_MS = 60_000
/** Rows of the one who asks, and of somebody else: enough for a plan that reads them all to be seen. */
const [OWN, OTHERS, PAGE] = [40, 2_000, 10]
const BEGAN = Date.UTC(2026, 10, 20, 12)

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

describe('[R2.26] a list that is read by cursor', () => {
  test('[R6.4] loses and doubles no row that was there all the time, whatever comes and goes between its pages', async () => {
    // Goal: any history. Method: rows at minutes that collide, random happenings of both customers before each page.
    const minute = fc.integer({ min: 0, max: 12 })
    const happening: fc.Arbitrary<Happening> = fc.oneof(
      fc.record({ kind: fc.constant('deploy' as const), minute }),
      fc.record({ kind: fc.constant('remove' as const), which: fc.nat(40) }),
      fc.record({ kind: fc.constant('change' as const), which: fc.nat(40) }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(minute, { maxLength: 25 }),
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.array(happening, { maxLength: 4 }), { maxLength: 12 }),
        async (minutes, limit, history) => {
          const [owner, stranger] = await Promise.all([gateway.signUp(), gateway.signUp()])
          const stayed = new Set(await add(owner.userId, minutes))
          const everOwned = new Set(stayed)
          const read: string[] = []
          let cursor: string | null | undefined
          for (let turn = 0; cursor !== null; turn += 1) {
            const page = await pageOf(owner, { limit, ...(cursor ? { cursor } : {}) })
            expect(page.items.length).toBeLessThanOrEqual(limit)
            read.push(...page.items.map(({ instance_id }) => instance_id))
            cursor = page.next_cursor
            for (const one of history[turn] ?? []) {
              const added = await happen(one, owner.userId, stranger.userId, [...everOwned], stayed)
              if (added) everOwned.add(added)
            }
          }
          expect(new Set(read).size).toBe(read.length)
          for (const id of stayed) expect(read).toContain(id)
          for (const id of read) expect(everOwned).toContain(id)
        },
      ),
      { numRuns: 25 },
    )
  })

  test('has the order and the rows of the whole list, and says how many there are', async () => {
    const owner = await gateway.signUp()
    await add(owner.userId, [3, 1, 2, 2, 2, 5, 4])
    const whole = await gateway.data(listInstances, {}, { token: owner.token })
    for (const limit of [1, 2, 3, 7, INSTANCE_PAGE_SIZE_MAX]) {
      const pages = await allPages(owner, { limit })
      expect(
        pages.flatMap(({ items }) => items),
        String(limit),
      ).toEqual(whole)
      expect(pages[0]?.total).toBe(7)
      expect(pages.slice(1).every(({ total }) => total === null)).toBe(true)
    }
  })

  test('is narrowed by status, by text in any width and case, and by ids, on every page alike', async () => {
    const owner = await gateway.signUp()
    const id = made()
    await addInstanceRows(gateway.database.db, [
      row(owner.userId, { id, name: 'Llama-Finetune', status: 'running' }),
      row(owner.userId, { name: 'comfy', imageId: 'pytorch' }),
      row(owner.userId, { name: 'own', imageId: null, imageReference: 'ghcr.io/llamas/server:1' }),
      row(owner.userId, { name: '100_percent' }),
      row(owner.userId, { name: 'gone', terminatedAt: new Date(BEGAN) }),
    ])
    const names = async (query: Query) =>
      (await allPages(owner, { limit: 1, ...query }))
        .flatMap(({ items }) => items.map(({ name }) => name))
        .sort()
    expect(await names({})).toEqual(['100_percent', 'Llama-Finetune', 'comfy', 'own'])
    expect(await names({ search: '  ＬＬＡＭＡ ' })).toEqual(['Llama-Finetune', 'own'])
    expect(await names({ search: 'PyTorch' })).toEqual(['comfy'])
    expect(await names({ search: id.slice(2) })).toEqual(['Llama-Finetune'])
    // What means anything to a pattern means itself.
    expect(await names({ search: '%' })).toEqual([])
    expect(await names({ search: '0_p' })).toEqual(['100_percent'])
    expect(await names({ status: 'running,error' })).toEqual(['Llama-Finetune'])
    expect(await names({ status: 'stopped', search: 'llama' })).toEqual(['own'])
    expect(await names({ instance_id: `${id},i-zzzzzz` })).toEqual(['Llama-Finetune'])
  })

  test('[R6.4] another customer’s ids are as good as none, and so is what was removed', async () => {
    const [owner, stranger] = await Promise.all([gateway.signUp(), gateway.signUp()])
    const [theirs = ''] = await add(owner.userId, [1])
    expect(await pageOf(stranger, { instance_id: theirs })).toEqual({
      items: [],
      next_cursor: null,
      total: 0,
    })
    expect((await pageOf(stranger, {})).items).toEqual([])
    await remove(theirs)
    expect((await pageOf(owner, { instance_id: theirs })).items).toEqual([])
  })
})

/** Of a plan of PostgreSQL, what of it is looked at here. */
interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

test('[R2.26] a page is read off an index in the order that it has there: nothing is sorted, and no row of others is looked at', async () => {
  const { db, pool } = gateway.database
  const [owner, stranger] = await Promise.all([gateway.signUp(), gateway.signUp()])
  const minutes = (count: number) => Array.from({ length: count }, (_, at) => at)
  await add(owner.userId, minutes(OWN))
  await add(stranger.userId, minutes(OTHERS))
  await db.execute(sql`analyze instance`)
  const { next_cursor } = await pageOf(owner, { limit: PAGE })
  for (const cursor of [undefined, next_cursor ?? '']) {
    const asked = vi.spyOn(pool, 'query')
    await pageOf(owner, { limit: PAGE, ...(cursor && { cursor }) })
    const statements = asked.mock.calls as unknown as [string | { text: string }, unknown[] | undefined][]
    const found = statements.flatMap(([statement, values = []]) => {
      const text = typeof statement === 'string' ? statement : statement.text
      // The gateway's own loops ask meanwhile, for nobody.
      const isIt = text.includes('from "instance"') && text.includes('order by')
      return isIt && values.includes(owner.userId) ? [{ text, values }] : []
    })
    asked.mockRestore()
    expect(found).toHaveLength(1)
    const [{ text, values } = { text: '', values: [] }] = found
    const { rows } = await pool.query(`explain (analyze, format json) ${text}`, values)
    const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan)
    expect(nodes.map(node => node['Node Type'])).toEqual(['Limit', 'Index Scan'])
    expect(nodes[1]).toMatchObject({ 'Index Name': 'instance_page', 'Actual Rows': PAGE + 1 })
    expect(nodes[1]?.['Rows Removed by Filter'] ?? 0).toBe(0)
  }
})

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

describe('a cursor', () => {
  test('goes on with its own list alone; changed, made up or of somebody else it is refused in words', async () => {
    const [owner, stranger] = await Promise.all([gateway.signUp(), gateway.signUp()])
    await add(owner.userId, [1, 2, 3])
    await add(stranger.userId, [1, 2, 3])
    const { next_cursor } = await pageOf(owner, { limit: 1 })
    const cursor = next_cursor ?? ''
    expect(cursor).not.toContain('2026')
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain('2026')
    expect((await pageOf(owner, { limit: 2, cursor })).items).toHaveLength(2)
    const bad: [{ token: string }, Query][] = [
      [stranger, { cursor }],
      [owner, { cursor, status: 'stopped' }],
      [owner, { cursor, search: 'x' }],
      [owner, { cursor: '' }],
      [owner, { cursor: `${cursor}=` }],
      [owner, { cursor: cursor.slice(0, -4) }],
      [
        owner,
        { cursor: Buffer.from(JSON.stringify([new Date(BEGAN).toISOString(), 'i-1'])).toString('base64url') },
      ],
      ...[0, 12, 30, cursor.length - 1].map((at): [{ token: string }, Query] => [
        owner,
        { cursor: cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1) },
      ]),
    ]
    for (const [who, query] of bad) {
      const answer = await gateway.call(pageInstances, { query }, { token: who.token })
      expect(answer, JSON.stringify(query)).toMatchObject({
        httpStatus: 400,
        envelope: { code: 'cursor_invalid', msg: expect.stringContaining('from its beginning') },
      })
    }
  })

  test('and pages are bounded: each part that is too long or no number names its rule', async () => {
    const { token } = await gateway.signUp()
    const wrong: [Record<string, unknown>, string, string][] = [
      [{ limit: INSTANCE_PAGE_SIZE_MAX + 1 }, 'limit', 'too_large'],
      [{ limit: 0 }, 'limit', 'too_small'],
      [{ limit: 'many' }, 'limit', 'not_a_number'],
      [{ cursor: 'x'.repeat(401) }, 'cursor', 'too_long'],
      [{ search: 'x'.repeat(101) }, 'search', 'too_long'],
      [{ status: 'gone' }, 'status.0', 'not_allowed'],
      [{ instance_id: "i-000001,i-1'; drop" }, 'instance_id.1', 'not_allowed'],
    ]
    for (const [query, path, rule] of wrong) {
      const answer = await gateway.call(pageInstances, { query: query as Query }, { token })
      expect(answer, JSON.stringify(query)).toMatchObject({
        httpStatus: 400,
        envelope: { code: 'validation_failed', fields: [{ path, rule }] },
      })
    }
  })
})

type Query = NonNullable<CallInput<typeof pageInstances>['query']>

let serial = 0
/** An id that no other row of this file has. */
function made(): string {
  serial += 1
  return `i-p${String(serial).padStart(6, '0')}`
}

function row(userId: string, part: Partial<MadeRow>, minute = 0): MadeRow {
  return { id: made(), userId, createdAt: new Date(BEGAN + minute * MINUTE_MS), ...part }
}

async function add(userId: string, minutes: readonly number[]): Promise<string[]> {
  const rows = minutes.map(minute => row(userId, {}, minute))
  await addInstanceRows(gateway.database.db, rows)
  return rows.map(({ id }) => id)
}

async function remove(id: string): Promise<void> {
  await gateway.database.db.update(instance).set({ terminatedAt: new Date() }).where(eq(instance.id, id))
}

/** Carries out one happening; the stranger does the same beside. @returns The id of what was deployed. */
async function happen(
  one: Happening,
  owner: string,
  stranger: string,
  all: readonly string[],
  stayed: Set<string>,
): Promise<string | null> {
  if (one.kind === 'deploy') {
    await add(stranger, [one.minute])
    return (await add(owner, [one.minute]))[0] ?? null
  }
  const id = all[one.which]
  if (id === undefined) return null
  if (one.kind === 'remove') {
    stayed.delete(id)
    await remove(id)
  } else {
    const changed = { name: 'renamed', status: 'error', version: 7, statusSince: new Date() } as const
    await gateway.database.db
      .update(instance)
      .set(changed)
      .where(inArray(instance.id, [id]))
  }
  return null
}

const pageOf = ({ token }: { token: string }, query: Query) =>
  gateway.data(pageInstances, { query }, { token })

async function allPages(who: { token: string }, query: Query) {
  const pages = [await pageOf(who, query)]
  for (;;) {
    const cursor = pages.at(-1)?.next_cursor
    if (!cursor) return pages
    pages.push(await pageOf(who, { ...query, cursor }))
  }
}
