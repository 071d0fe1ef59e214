import { isDeepStrictEqual } from 'node:util'
import type { FieldRule } from '@berth/contract/errors'
import type { InstanceEventCode } from '@berth/contract/instance-codes'
import { instanceCan } from '@berth/contract/instance-states'
import type { CommandEndRule, InstanceChange } from '@berth/contract/instances'
import { ENV_VARIABLES_MAX } from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { addEvent, INSTANCE_CHANNEL } from '../change-status.ts'
import { forgetUse } from '../idle.ts'
import { type InstanceRow, shownStatus } from '../rows.ts'
import { isUsedUp, requireAhead } from '../stop-rules.ts'
import { instance } from '../tables.ts'
import { type ActionDeps, act, beginRestart, type Target } from './actions.ts'

/** What of an instance is to be changed; what is left out stays as it is. */
export interface EditWanted {
  name?: string | undefined
  stopAt?: Date | null | undefined
  spendLimitCents?: number | null | undefined
  idleStopMinutes?: number | null | undefined
  resumeAfterTopup?: boolean | undefined
  httpPorts?: number[] | undefined
  tcpPorts?: number[] | undefined
  udpPorts?: number[] | undefined
  /** By name: another value, or null for a variable that goes. */
  env?: Record<string, string | null> | undefined
  secretEnv?: string[] | undefined
  startCommand?: string | undefined
  onCommandEnd?: CommandEndRule | undefined
  sshKeyIds?: string[] | null | undefined
  /** Where it runs, it is restarted in the same step. */
  restart?: boolean | undefined
}

/** What belongs together, by the event that tells of its change. */
const PARTS = {
  renamed: ['name'],
  stop_rules_changed: ['stopAt', 'spendLimitCents', 'idleStopMinutes'],
  ports_changed: ['httpPorts', 'tcpPorts', 'udpPorts'],
  env_changed: ['env', 'secretEnv'],
  command_changed: ['startCommand', 'onCommandEnd'],
  ssh_keys_changed: ['sshKeyIds'],
  resume_changed: ['resumeAfterTopup'],
} as const satisfies Partial<Record<InstanceEventCode, readonly (keyof InstanceRow)[]>>
type PartName = keyof typeof PARTS
const PART_NAMES = Object.keys(PARTS) as PartName[]
type Columns = Pick<InstanceRow, (typeof PARTS)[PartName][number]>

/** What a machine takes on only when it is started. */
const AT_START: readonly PartName[] = ['env_changed', 'command_changed']

/**
 * Changes an instance. Stop rules (B5), ports and SSH keys hold from now on; environment and command from its next start,
 * which is now where a restart is asked for and it runs.
 * @throws ApiError `not_found`, `instance_state`, or `validation_failed` for a moment that is not ahead, a limit that is
 *   used up already, too many variables, a key that is not stored, and ports that the instance cannot have.
 */
export function edit(deps: ActionDeps, target: Target, wanted: EditWanted): Promise<InstanceChange> {
  return act(deps, target, 'edit', async (tx, row, at) => {
    const columns = columnsOf(row, wanted)
    const changes = PART_NAMES.filter(part => PARTS[part].some(key => !isSame(row[key], columns[key])))
    const has = (...parts: PartName[]) => parts.some(part => changes.includes(part))
    await requireSound(deps, tx, row, { columns, wanted, changes, at })
    const edited = changes.length === 0 ? row : await write(tx, row, columns, { at, has })
    if (row.idleStopMinutes !== edited.idleStopMinutes) await forgetUse(tx, row.id)
    for (const code of changes) {
      await addEvent(tx, row, { at, code, ...(code === 'renamed' && { detail: columns.name }) })
    }
    const canRestart = instanceCan('restart', { kind: row.kind, status: shownStatus(row) })
    if (wanted.restart && canRestart) return beginRestart(tx, deps, edited, at)
    if (changes.length > 0) await notify(tx, INSTANCE_CHANNEL, row.id)
    return edited
  })
}

async function write(
  tx: Transaction,
  row: InstanceRow,
  columns: Columns,
  { at, has }: { at: Date; has: (...parts: PartName[]) => boolean },
): Promise<InstanceRow> {
  const isBound = has('stop_rules_changed')
  const [edited] = await tx
    .update(instance)
    .set({
      ...columns,
      changesWait: row.changesWait || (row.status === 'running' && has(...AT_START)),
      // Whoever looks after it is to know of the new rules, and of what its machine is made from.
      ...((isBound || has('ports_changed', ...AT_START)) && { version: sql`${instance.version} + 1` }),
      ...(isBound && { nextAttemptAt: at }),
      // Its customer is at it: what could not be started by itself is theirs to start, unless more is added.
      ...(row.resumeTry &&
        !has('resume_changed') && {
          resumeTry: { ...row.resumeTry, next_at: null, at: at.toISOString() },
        }),
    })
    .where(eq(instance.id, row.id))
    .returning()
  return edited ?? row
}

/** All that may be changed as it is to be. */
function columnsOf(row: InstanceRow, wanted: EditWanted): Columns {
  const { env: changes = {}, restart: _, ...rest } = wanted
  const entries = Object.entries({ ...row.env, ...changes })
  const env = Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null))
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const asked = wanted.secretEnv ?? row.secretEnv
  // Nobody who was not told a value gets to read it by calling it no secret.
  const isSecret = (name: string) =>
    asked.includes(name) || (row.secretEnv.includes(name) && typeof changes[name] !== 'string')
  const all = { ...row, ...given, env, secretEnv: Object.keys(env).filter(isSecret) }
  const keys: (keyof Columns)[] = PART_NAMES.flatMap(part => [...PARTS[part]])
  return Object.fromEntries(keys.map(key => [key, all[key]])) as Columns
}

function isSame(one: unknown, other: unknown): boolean {
  const sorted = (value: unknown) =>
    Array.isArray(value) && value.every(item => typeof item === 'string') ? [...value].sort() : value
  return isDeepStrictEqual(sorted(one), sorted(other))
}

interface Edit {
  columns: Columns
  wanted: EditWanted
  changes: readonly PartName[]
  at: Date
}

/** @throws ApiError as `edit` says; only what is to be another is looked at. */
async function requireSound(
  deps: ActionDeps,
  tx: Transaction,
  row: InstanceRow,
  { columns, wanted, changes, at }: Edit,
): Promise<void> {
  if (changes.includes('stop_rules_changed')) {
    if (wanted.stopAt) requireAhead(wanted.stopAt, at)
    if (wanted.spendLimitCents) await requireAbove(deps, tx, row.id, wanted.spendLimitCents)
  }
  if (Object.keys(columns.env).length > ENV_VARIABLES_MAX) throw fault('env', 'too_large')
  if (changes.includes('ports_changed')) await requirePorts(deps, tx, row, columns)
  if (changes.includes('ssh_keys_changed') && wanted.sshKeyIds) {
    await deps.sshKeys.requireOwn(tx, row.userId, wanted.sshKeyIds)
  }
}

async function requireAbove(
  { billing }: Pick<ActionDeps, 'billing'>,
  tx: Transaction,
  instanceId: string,
  spendLimitCents: number,
): Promise<void> {
  const cost = await billing.costMicro(tx, 'instance', [instanceId])
  if (isUsedUp(spendLimitCents, cost.get(instanceId) ?? 0n)) throw fault('spend_limit_cents', 'below_cost')
}

/** Ports that can be had, as at a deploy: an address of its own is for something. */
async function requirePorts(
  { publicIps, quotes }: Pick<ActionDeps, 'publicIps' | 'quotes'>,
  tx: Transaction,
  row: InstanceRow,
  { tcpPorts, udpPorts }: Columns,
): Promise<void> {
  const isBound = (await publicIps.boundTo(tx, row.id)) !== null
  if (isBound && tcpPorts.length + udpPorts.length === 0) throw fault('tcp_ports', 'public_ip_no_ports')
  // Of the pool it has what it had: more than that is to be free.
  await quotes.requireDirectPorts(tx, {
    http_ports: [],
    tcp_ports: tcpPorts.slice(row.tcpPorts.length),
    udp_ports: udpPorts.slice(row.udpPorts.length),
    public_ip: isBound ? 'dedicated' : 'shared',
  })
}

function fault(path: string, rule: FieldRule): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}
