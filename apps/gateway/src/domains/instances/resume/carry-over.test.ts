import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createOlderDatabase, type OlderDatabase } from '../../../../test/older-database.ts'
import { migrate } from '../../../platform/database/migrate.ts'
import { openDatabase } from '../../../platform/database/open-database.ts'
import { SEEN_CHANNEL } from '../change-status.ts'
import { resumesByDefault, stoppedUnpaidOf } from './resume-choices.ts'

/**
 * Goal: instances that an empty balance had stopped before anything could be started again after money has come are told
 * as such, and none of them starts by itself unless somebody asks for it (B4). Method: a database with the migrations up
 * to then, filled as that version did.
 */

const CARRIED_BY = 'started_again_after_money'
const at = (hour: number) => `2026-05-04T${String(hour).padStart(2, '0')}:00:00.000Z`

/** An instance as that version left it, and since when it has stopped for an empty balance. */
interface Old {
  id: string
  status: string
  desired: string
  reason: string | null
  statusSince: string
  stoppedAt: string | null
  terminatedAt?: string
  emptiedAt: string | null
}

const EMPTY = 'balance_used_up'
const OLD: Old[] = [
  {
    ...{ id: 'i-stopped', status: 'stopped', desired: 'stopped', reason: EMPTY },
    ...{ statusSince: at(10), stoppedAt: at(9), emptiedAt: at(9) },
  },
  // Killed while it stopped: nobody wrote down when it had.
  {
    ...{ id: 'i-stopping', status: 'stopping', desired: 'stopped', reason: EMPTY },
    ...{ statusSince: at(8), stoppedAt: null, emptiedAt: at(8) },
  },
  // Stopped once before, a time of which nothing was cleared.
  {
    ...{ id: 'i-again', status: 'stopped', desired: 'stopped', reason: EMPTY },
    ...{ statusSince: at(7), stoppedAt: at(11), emptiedAt: at(7) },
  },
  {
    ...{ id: 'i-by-hand', status: 'stopped', desired: 'stopped', reason: null },
    ...{ statusSince: at(9), stoppedAt: at(9), emptiedAt: null },
  },
  {
    ...{ id: 'i-limit', status: 'stopped', desired: 'stopped', reason: 'spend_limit_reached' },
    ...{ statusSince: at(9), stoppedAt: at(9), emptiedAt: null },
  },
  // Its customer has started it since.
  {
    ...{ id: 'i-starting', status: 'stopped', desired: 'running', reason: EMPTY },
    ...{ statusSince: at(9), stoppedAt: at(9), emptiedAt: null },
  },
  {
    ...{ id: 'i-gone', status: 'stopped', desired: 'stopped', reason: EMPTY },
    ...{ statusSince: at(9), stoppedAt: at(9), terminatedAt: at(12), emptiedAt: null },
  },
]

let database: OlderDatabase
let close = async () => {}
beforeAll(async () => {
  database = await createOlderDatabase(CARRIED_BY)
})
afterAll(async () => {
  await close()
  await database.drop()
})

test('[B4] what an empty balance had stopped before is told as that, and starts by itself only where somebody says so', async () => {
  const userId = randomUUID()
  for (const one of OLD) await add(userId, one)
  await migrate(database.url)
  const rows = await database.run<{ id: string; emptied_at: Date | null; resume_after_topup: boolean }>(
    'select id, emptied_at, resume_after_topup, resume_try from instance order by id',
  )
  expect(Object.fromEntries(rows.map(row => [row.id, row.emptied_at?.toISOString() ?? null]))).toEqual(
    Object.fromEntries(OLD.map(({ id, emptiedAt }) => [id, emptiedAt])),
  )
  expect(rows.filter(row => row.resume_after_topup)).toEqual([])

  const log = pino({ level: 'silent' })
  const opened = openDatabase({ url: database.url, log, poolSize: 2 })
  close = opened.close
  const clock = { now: () => new Date(at(13)) }
  expect(await stoppedUnpaidOf(opened.db, { clock }, userId)).toEqual([
    { name: 'i-again', resumes: false },
    { name: 'i-stopping', resumes: false },
    { name: 'i-stopped', resumes: false },
  ])
  expect(await resumesByDefault(opened.db, userId)).toBe(false)

  // Whoever follows instances hears of the new column too, and goes on hearing of the old ones.
  const heard: string[] = []
  const stop = await opened.listen(SEEN_CHANNEL, payload => void heard.push(payload))
  for (const change of [`resume_after_topup = true`, `name = 'another'`]) {
    heard.length = 0
    await database.run(`update instance set ${change} where id = 'i-stopped'`)
    await vi.waitFor(() => expect(heard).toEqual([`${userId} i-stopped`]))
  }
  await stop()
  expect((await stoppedUnpaidOf(opened.db, { clock }, userId)).filter(({ resumes }) => resumes)).toEqual([
    { name: 'another', resumes: true },
  ])
})

async function add(userId: string, one: Old): Promise<void> {
  await database.run(
    `insert into instance (id, user_id, name, kind, region_code, gpu_spec_id, gpu_count, simulated, spec, gpu_uuids,
       billing_type, container_disk_gb, http_ports, tcp_ports, env, start_command, running_micro_per_hour,
       stopped_micro_per_hour, service_secret, desired, status, reason_code, status_since, stopped_at, terminated_at, created_at,
       next_attempt_at)
     values ($1, $2, $1, 'POD', 'local', 'cpu', 1, false, $3, '[]', 'postpay', 10, '[]', '[]', '{}', '', 80000, 1000, $1,
       $4, $5, $6, $7, $8, $9, $10, $10)`,
    [
      ...[one.id, userId, JSON.stringify({ name: 'CPU', gpu: false, vram_gb: 0, vcpu: 2, memory_gb: 4 })],
      ...[
        one.desired,
        one.status,
        one.reason,
        one.statusSince,
        one.stoppedAt,
        one.terminatedAt ?? null,
        at(1),
      ],
    ],
  )
}
