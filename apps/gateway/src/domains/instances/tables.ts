import { CHARGE_CYCLES } from '@berth/contract/charge-terms'
import { INSTANCE_EVENT_CODES, INSTANCE_REASON_CODES } from '@berth/contract/instance-codes'
import { INSTANCE_STATUSES } from '@berth/contract/instance-states'
import { COMMAND_END_RULES } from '@berth/contract/instances'
import { POD_VOLUME_PATH } from '@berth/contract/limits'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/** What a customer deployed. Desired, observed and attempt state are separate columns. */
export const instance = pgTable(
  'instance',
  {
    id: text('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    name: text('name').notNull(),
    kind: text('kind', { enum: ['POD', 'VM'] }).notNull(),
    regionCode: text('region_code').notNull(),
    gpuSpecId: text('gpu_spec_id').notNull(),
    gpuCount: integer('gpu_count').notNull(),
    simulated: boolean('simulated').notNull(),
    /** The spec as it was offered when it was deployed or last started; CPU and memory are the whole machine's. */
    spec: jsonb('spec')
      .$type<{ name: string; gpu: boolean; vram_gb: number; vcpu: number; memory_gb: number }>()
      .notNull(),
    /** Real GPUs given to it, by uuid; kept until the driver confirms that nothing uses them any more. */
    gpuUuids: jsonb('gpu_uuids').$type<string[]>().notNull(),
    /** An image of the catalogue, or else one of a registry and which credential is shown there. */
    imageId: text('image_id'),
    imageReference: text('image_reference'),
    registryCredentialId: uuid('registry_credential_id'),
    billingType: text('billing_type', { enum: ['postpay', 'prepay'] }).notNull(),
    chargeCycle: text('charge_cycle', { enum: CHARGE_CYCLES }),
    /** When what is paid for in advance ends; null until a first term has begun, and on demand. */
    expiryTime: moment('expiry_time'),
    /** Whether another term is bought then; otherwise it is released. */
    autoRenew: boolean('auto_renew').notNull().default(false),
    /** What a term costs, and its disk of that, as quoted for the last one; null on demand. */
    termMicro: amount('term_micro'),
    termDiskMicro: amount('term_disk_micro'),
    /** The day before its end on which the customer was last told of it (`TERM_NOTICE_DAYS`); null: not yet. */
    termNoticeDay: integer('term_notice_day'),
    containerDiskGb: integer('container_disk_gb').notNull(),
    /** What it has beside that (`own-disk.ts`): a virtual machine's second disk, or a pod's volume and where it stands. */
    dataDiskGb: integer('data_disk_gb'),
    podVolumeGb: integer('pod_volume_gb'),
    podVolumePath: text('pod_volume_path').notNull().default(POD_VOLUME_PATH),
    httpPorts: jsonb('http_ports').$type<number[]>().notNull(),
    tcpPorts: jsonb('tcp_ports').$type<number[]>().notNull(),
    udpPorts: jsonb('udp_ports').$type<number[]>().notNull().default([]),
    env: jsonb('env').$type<Record<string, string>>().notNull(),
    /** Names of those that are never shown again. */
    secretEnv: jsonb('secret_env').$type<string[]>().notNull().default([]),
    startCommand: text('start_command').notNull(),
    onCommandEnd: text('on_command_end', { enum: COMMAND_END_RULES }).notNull().default('keep'),
    /** When it is stopped by itself, and what it may cost and how long it may be idle before it is (B5). */
    stopAt: moment('stop_at'),
    spendLimitCents: integer('spend_limit_cents'),
    idleStopMinutes: integer('idle_stop_minutes'),
    /** Whether it starts again by itself once money has come, where it was stopped because none was left (B4). */
    resumeAfterTopup: boolean('resume_after_topup').notNull().default(false),
    /** Which of its customer's stored keys may sign in by SSH; null: all of them, also those that come later. */
    sshKeyIds: jsonb('ssh_key_ids').$type<string[]>(),
    /** Whether environment or command were changed since its machine was started; said of one that runs alone. */
    changesWait: boolean('changes_wait').notNull().default(false),
    /** The network volume that it has, and where; it stays on its engine, and so does the instance. */
    networkVolume: jsonb('network_volume').$type<{ id: string; path: string }>(),
    /** Whether that has changed since its machine was last told what it has. */
    volumeChanged: boolean('volume_changed').notNull().default(false),
    /** Prices on demand, as quoted when it was deployed or last started, or when its term was bought. */
    runningMicroPerHour: amount('running_micro_per_hour').notNull(),
    stoppedMicroPerHour: amount('stopped_micro_per_hour').notNull(),
    /** What a GB that it sends costs, quoted with those; 0: nothing, and it is not counted. */
    trafficMicroPerGb: amount('traffic_micro_per_gb').notNull().default(sql`0`),
    /** First label of the origin of its HTTP services; never shown in logs. */
    serviceSecret: text('service_secret').notNull(),

    /** What the customer (or an empty balance) wants. */
    desired: text('desired', { enum: ['running', 'stopped', 'terminated'] }).notNull(),
    /** Counts restarts asked for; the machine has caught up when `restartsDone` is equal. */
    restartsAsked: integer('restarts_asked').notNull().default(0),
    restartsDone: integer('restarts_done').notNull().default(0),

    /** What is known of the machine. */
    status: text('status', { enum: INSTANCE_STATUSES }).notNull(),
    reasonCode: text('reason_code', { enum: INSTANCE_REASON_CODES }),
    reasonDetail: text('reason_detail'),
    progress: jsonb('progress').$type<{
      step: 'scheduled' | 'pulling' | 'booting' | 'probing' | 'ready'
      percent: number
      bytes_done: number | null
      bytes_total: number | null
    }>(),
    /** The engine that owns its machine, from when it was given one: it stays there for good. */
    engineId: text('engine_id'),
    /**
     * Whether what its customer put into its machine may run: from when the machine is ready (or is started again, where
     * it does not wait) until the engine has confirmed that nothing runs, or nobody can say any more.
     */
    mayRun: boolean('may_run').notNull().default(false),
    /** When its machine first ran: from then on what is stored in there may be its customer's. */
    firstRanAt: moment('first_ran_at'),
    /** How its command ended last since it became ready, by its machine's own word, and when that was written here. */
    commandEnd: jsonb('command_end').$type<{
      exit_code: number
      ended_at: string
      count: number
      again_at: string | null
      noted_at: string
    }>(),
    /** When an event last told that its command had ended, since it became ready. */
    commandToldAt: moment('command_told_at'),
    readyAt: moment('ready_at'),
    stoppedAt: moment('stopped_at'),
    /** The image that is being made of it (R4.6); null: none. */
    buildingImageId: text('building_image_id'),
    /** What the image was called that it was made from, where that is not the catalogue's: it may be gone by now. */
    imageName: text('image_name'),
    /** Until when it is kept while it stays stopped, where that is not `STOPPED_POD_KEPT_DAYS` after it stopped. */
    keptUntil: moment('kept_until'),
    /** The day before its deletion that was last announced (`STOPPED_POD_NOTICE_DAYS`); null: none since it stopped. */
    deletionNoticeDay: integer('deletion_notice_day'),
    /** Since when nothing is left to pay for a virtual machine that stays stopped; null: it is paid for, or not looked at. */
    unpaidSince: moment('unpaid_since'),
    /** When it was to stop because nothing was left to pay for it; null: it runs, or stopped for something else. */
    emptiedAt: moment('emptied_at'),
    /** How starting it again by itself went since then; null: nothing was tried but to wait for money. */
    resumeTry: jsonb('resume_try').$type<{
      attempts: number
      failure: { code: string; values: Record<string, string | number> }
      /** When it is tried again; null: it was given up, and is not before more money comes than by then. */
      next_at: string | null
      at: string
    }>(),
    /** When the driver last confirmed that it runs: where billing ends if it is found dead. Null: never ready. */
    observedAt: moment('observed_at'),

    /** The attempt under way. */
    statusSince: moment('status_since').notNull(),
    /** Tries of the current step that failed, and what the last one failed with. */
    attempts: integer('attempts').notNull().default(0),
    failureCode: text('failure_code'),
    failureDetail: text('failure_detail'),
    nextAttemptAt: moment('next_attempt_at').notNull(),
    leaseOwner: text('lease_owner'),
    leaseUntil: moment('lease_until'),

    /** Grows with every change of what is wanted or known, not with progress or leases: compare-and-set on it. */
    version: integer('version').notNull().default(1),
    createdAt: moment('created_at').notNull(),
    /** Set when the driver confirmed that nothing is left; the row stays for receipts. */
    terminatedAt: moment('terminated_at'),
  },
  table => [
    index('instance_user').on(table.userId, table.createdAt),
    // A customer's list by pages: what others have, and what is gone, is never read.
    index('instance_page')
      .on(table.userId, table.createdAt, table.id)
      .where(sql`${table.terminatedAt} is null`),
    uniqueIndex('instance_secret').on(table.serviceSecret),
    index('instance_emptied')
      .on(table.emptiedAt, table.id)
      .where(sql`${table.emptiedAt} is not null and ${table.terminatedAt} is null`),
    index('instance_live').on(table.nextAttemptAt).where(sql`${table.terminatedAt} is null`),
  ],
)

/**
 * Whether instances are used that are to be stopped when they are idle (B5). Apart from their rows, since any gateway may
 * write it at any time and none waits for a lock.
 */
export const instanceUse = pgTable('instance_use', {
  instanceId: text('instance_id').primaryKey(),
  /** When somebody was last connected to it, through any gateway; a little late. */
  usedAt: moment('used_at'),
  /** Since when its processors and GPUs are quiet; null while they are not. Time in which nobody looked does not count. */
  quietSince: moment('quiet_since'),
  /** When that was last seen. */
  seenAt: moment('seen_at'),
})

/**
 * What machines have sent of which a GB costs something (`traffic/traffic.ts`). Beside the instance's row, which would
 * otherwise change each minute.
 */
export const instanceTraffic = pgTable(
  'instance_traffic',
  {
    instanceId: text('instance_id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** What its machine's counter of sent bytes stood at when it was looked at last. */
    counterBytes: bigint('counter_bytes', { mode: 'number' }).notNull(),
    counterAt: moment('counter_at').notNull(),
    /** Bytes that are not charged yet. */
    sentBytes: bigint('sent_bytes', { mode: 'number' }).notNull(),
    chargedAt: moment('charged_at').notNull(),
  },
  table => [check('instance_traffic_bytes', sql`${table.counterBytes} >= 0 and ${table.sentBytes} >= 0`)],
)

/** Whether instances of a customer that are deployed from now on start again by themselves; no row: they do not (B4). */
export const resumeDefault = pgTable('instance_resume_default', {
  userId: uuid('user_id').primaryKey(),
  isOn: boolean('is_on').notNull(),
})

/** What happened to an instance; receipts and the events page read it. */
export const instanceEvent = pgTable(
  'instance_event',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    instanceId: text('instance_id').notNull(),
    userId: uuid('user_id').notNull(),
    at: moment('at').notNull(),
    status: text('status', { enum: INSTANCE_STATUSES }).notNull(),
    code: text('code', { enum: INSTANCE_EVENT_CODES }).notNull(),
    detail: text('detail').notNull().default(''),
  },
  table => [index('instance_event_instance').on(table.instanceId, table.id)],
)
