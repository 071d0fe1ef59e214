import * as z from 'zod'
import { defineCall } from './call.ts'
import { CHARGE_CYCLES, termPrice } from './charge-terms.ts'
import { by, centsBetween, micro, slug, timestamp } from './fields.ts'
import { imageChoiceFields } from './image-choice.ts'
import { INSTANCE_EVENT_CODES, INSTANCE_REASON_CODES, MACHINE_NOTE_CODES } from './instance-codes.ts'
import { INSTANCE_STATUSES } from './instance-states.ts'
import {
  CONTAINER_DISK_GB_MAX,
  CONTAINER_DISK_GB_MIN,
  DEPLOY_BODY_BYTES_MAX,
  ENV_NAME_CHARS_MAX,
  ENV_VALUE_CHARS_MAX,
  ENV_VARIABLES_MAX,
  GPU_COUNT_MAX,
  IDLE_STOP_MINUTES_MAX,
  IDLE_STOP_MINUTES_MIN,
  INSTANCE_NAME_CHARS_MAX,
  INSTANCE_NAME_PATTERN,
  OWN_DISK_GB_MAX,
  OWN_DISK_GB_MIN,
  POD_VOLUME_PATH,
  PORT_MAX,
  PORTS_MAX,
  PRICE_MICRO_CHARS_MAX,
  SPEND_LIMIT_CENTS_MAX,
  SSH_KEYS_PER_USER_MAX,
  START_COMMAND_CHARS_MAX,
  STOP_AT_CHARS_MAX,
  TERMINAL_SESSIONS_MAX,
} from './limits.ts'
import { MONEY_READS } from './money-reads.ts'
import { PUBLIC_IP_TYPES, publicIp } from './public-ip.ts'
import { volumeId, volumeMount, volumePath } from './volumes.ts'

/** `i-` and six letters or digits. */
export const instanceId = z.string(by('required')).regex(/^i-[a-z0-9]{6,12}$/, by('not_allowed'))

/** An instance's name (R5.4). */
export const instanceName = z
  .string(by('instance_name_required'))
  .min(1, by('instance_name_required'))
  .max(INSTANCE_NAME_CHARS_MAX, by('instance_name_length'))
  .regex(INSTANCE_NAME_PATTERN, by('instance_name_characters'))

const port = z
  .number(by('port_range'))
  .int(by('port_range'))
  .min(1, by('port_range'))
  .max(PORT_MAX, by('port_range'))

const portNumbers = z.array(port, by('wrong_type')).max(PORTS_MAX, by('ports_max'))

/** Ports of one protocol: up to ten, each once (R5.5). */
export const ports = portNumbers.refine(list => new Set(list).size === list.length, by('port_duplicate'))

const diskGb = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(CONTAINER_DISK_GB_MIN, by('too_small'))
  .max(CONTAINER_DISK_GB_MAX, by('too_large'))

/** The size of a disk that an instance has beside its container or system disk, in whole GB. */
const ownDiskGb = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(OWN_DISK_GB_MIN, by('too_small'))
  .max(OWN_DISK_GB_MAX, by('too_large'))

const ownDisks = {
  /** A second disk of a virtual machine; null: none. It goes with the instance. */
  data_disk_gb: ownDiskGb.nullable().default(null),
  /** A volume of a pod's own, which keeps what it holds until the instance is terminated; null: none. */
  pod_volume_gb: ownDiskGb.nullable().default(null),
}

const gpuCount = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(1, by('too_small'))
  .max(GPU_COUNT_MAX, by('too_large'))

const envName = z
  .string(by('wrong_type'))
  .max(ENV_NAME_CHARS_MAX, by('too_long'))
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, by('env_name'))

/** Micro-units, as a price was quoted. */
export const priceMicro = z
  .string(by('wrong_type'))
  .max(PRICE_MICRO_CHARS_MAX, by('too_long'))
  .regex(/^\d+$/, by('not_a_number'))

const envValue = z.string(by('wrong_type')).max(ENV_VALUE_CHARS_MAX, by('too_long'))

/** A record wraps what its key schema says into an issue of its own, so the rule is taken out again here. */
const envFault: NonNullable<Parameters<typeof z.record>[2]> = {
  error: issue => (issue.code === 'invalid_key' ? issue.issues[0]?.message : 'wrong_type'),
}

const env = z
  .record(envName, envValue, envFault)
  .refine(record => Object.keys(record).length <= ENV_VARIABLES_MAX, by('too_large'))

/** Changes of variables by name: a value sets one, null takes it away, and what is not named stays as it is. */
const envChanges = z
  .record(envName, envValue.nullable(), envFault)
  // All may be taken away for as many others.
  .refine(record => Object.keys(record).length <= 2 * ENV_VARIABLES_MAX, by('too_large'))

/** Names of variables that are never shown again. */
const secretEnv = z.array(envName, by('wrong_type')).max(ENV_VARIABLES_MAX, by('too_large'))

const startCommand = z.string(by('wrong_type')).max(START_COMMAND_CHARS_MAX, by('too_long'))

/** Ids of the stored SSH keys that may sign in; null: all that the account has, also those that are added later. */
export const sshKeyIds = z
  .array(z.uuid(by('not_allowed')), by('wrong_type'))
  .max(SSH_KEYS_PER_USER_MAX, by('too_large'))
  .nullable()

/** What may happen when an instance's start command has ended; the first is what happens unless something else is asked for. */
export const COMMAND_END_RULES = ['keep', 'restart', 'stop'] as const
export type CommandEndRule = (typeof COMMAND_END_RULES)[number]
const commandEndRule = z.enum(COMMAND_END_RULES, by('not_allowed'))

/** When an instance is stopped by itself (B5): later than now, and no more than a year ahead; null: never. */
export const stopAt = z.iso.datetime(by('moment')).max(STOP_AT_CHARS_MAX, by('moment')).nullable()

/** What an instance may cost in all, its disk included, before it is stopped by itself (B5); null: any amount. */
export const spendLimitCents = centsBetween(1, SPEND_LIMIT_CENTS_MAX).nullable()

/** How long an instance may be idle before it is stopped by itself (B5); null: for ever. */
export const idleStopMinutes = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(IDLE_STOP_MINUTES_MIN, by('too_small'))
  .max(IDLE_STOP_MINUTES_MAX, by('too_large'))
  .nullable()

/** What a deploy form holds: the same object checks the form and the call. */
export const deployBody = z.object(
  {
    name: instanceName,
    kind: z.enum(['POD', 'VM'], by('not_allowed')).default('POD'),
    region_code: slug,
    gpu_spec_id: slug,
    gpu_count: gpuCount,
    ...imageChoiceFields,
    billing_type: z.enum(['postpay', 'prepay'], by('not_allowed')).default('postpay'),
    /** How long is paid for in advance; null on demand. */
    charge_cycle: z.enum(CHARGE_CYCLES, by('not_allowed')).nullable().default(null),
    /** Whether another term is bought when one is over; otherwise the instance is released then. */
    auto_renew: z.boolean(by('wrong_type')).default(true),
    /** What a term was quoted at: at another price it is refused. Null takes the price as it is. */
    price_micro: priceMicro.nullable().default(null),
    /** The container disk of a pod, the system disk of a virtual machine. */
    container_disk_gb: diskGb,
    ...ownDisks,
    /** Where the pod's volume stands. */
    pod_volume_path: volumePath.default(POD_VOLUME_PATH),
    http_ports: ports.default([]),
    tcp_ports: ports.default([]),
    udp_ports: ports.default([]),
    /** Where its TCP and UDP ports are reached: a dedicated address costs by the hour. */
    public_ip: z.enum(PUBLIC_IP_TYPES, by('not_allowed')).default('shared'),
    env: env.default({}),
    /** Which of them are never shown again. */
    secret_env: secretEnv.default([]),
    /** Replaces the image's own command; run by `sh -c`. Empty keeps it. */
    start_command: startCommand.default(''),
    /** What happens when that command has ended: nothing, it is run again after a pause that grows, or the instance stops. */
    on_command_end: commandEndRule.default('keep'),
    stop_at: stopAt.default(null),
    spend_limit_cents: spendLimitCents.default(null),
    idle_stop_minutes: idleStopMinutes.default(null),
    ssh_key_ids: sshKeyIds.default(null),
    /** A network volume that it has, and where; null: none. */
    network_volume: volumeMount.nullable().default(null),
  },
  by('required'),
)
z.globalRegistry.add(deployBody, { id: 'DeployBody' })
export type DeployBody = z.infer<typeof deployBody>

/** What of a deploy says which disks it has. */
type DisksAsked = Pick<DeployBody, 'kind' | 'data_disk_gb' | 'pod_volume_gb'> &
  Partial<Pick<DeployBody, 'pod_volume_path' | 'network_volume'>>

/**
 * What of a deploy's disks does not go together, by field and rule: a disk that its kind has not, a volume within another.
 * The form and the call ask the same.
 * @returns Nothing where all is well.
 */
export function diskFaults(asked: DisksAsked): { path: keyof DeployBody; rule: string }[] {
  const { kind, data_disk_gb, pod_volume_gb, pod_volume_path, network_volume } = asked
  const faults: { path: keyof DeployBody; rule: string }[] = []
  if (kind !== 'VM' && data_disk_gb !== null) faults.push({ path: 'data_disk_gb', rule: 'vm_only' })
  if (kind !== 'POD' && pod_volume_gb !== null) faults.push({ path: 'pod_volume_gb', rule: 'pod_only' })
  if (pod_volume_gb !== null && pod_volume_path && network_volume) {
    const [own, other] = [`${pod_volume_path}/`, `${network_volume.path}/`]
    if (own.startsWith(other) || other.startsWith(own)) {
      faults.push({ path: 'pod_volume_path', rule: 'volume_path_clash' })
    }
  }
  return faults
}

const quoteFields = deployBody.pick({
  kind: true,
  region_code: true,
  gpu_spec_id: true,
  billing_type: true,
  charge_cycle: true,
  public_ip: true,
})

/**
 * One line of a price. `key` names it: `gpu` and `cpu` the machine, `disk` what is over the free part of the container or
 * system disk, `data_disk` and `pod_volume` the disk beside that, `public_ip` an address of its own, which is metered by
 * the hour also where the rest is paid for in advance.
 */
export const priceLine = z.object({
  key: z.enum(['gpu', 'cpu', 'disk', 'data_disk', 'pod_volume', 'public_ip']),
  /** The spec's name, for the first line. */
  name: z.string(),
  /** GPUs, or GB that cost. */
  quantity: z.number().int(),
  /** GB in all, for disks. */
  of: z.number().int().nullable(),
  rate_micro_per_hour: micro,
})
z.globalRegistry.add(priceLine, { id: 'PriceLine' })

export const price = z.object({
  currency: z.string(),
  lines: z.array(priceLine),
  running_micro_per_hour: micro,
  stopped_micro_per_day: micro,
  /** What a GB that it sends costs, beside all that; 0 where that is free. */
  traffic_micro_per_gb: micro,
  /** What must be available before it starts: the first hour, or the whole of a term. */
  reserve_cents: z.number().int(),
  /** What it costs paid in advance, by term. */
  terms: z.array(termPrice),
  /** How long the balance would last with this running beside what runs already; null without spending. */
  lasts_seconds: z.number().int().nullable(),
})
z.globalRegistry.add(price, { id: 'Price' })
export type Price = z.infer<typeof price>

/** Why an instance is in its status, for people: `code` is a key of the console's texts, `detail` the engine's own words. */
export const reason = z.object({ code: z.enum(INSTANCE_REASON_CODES), detail: z.string() })
z.globalRegistry.add(reason, { id: 'InstanceReason' })

/**
 * What a customer should know of a machine: `code` is a key of the console's texts, `values` are what stands in them,
 * and `detail` the engine's own words in English, empty where it has none.
 */
export const machineNote = z.object({
  code: z.enum(MACHINE_NOTE_CODES),
  values: z.record(z.string(), z.number()),
  detail: z.string(),
})
z.globalRegistry.add(machineNote, { id: 'MachineNote' })
export type MachineNote = z.infer<typeof machineNote>

export const progress = z.object({
  /** Where a start is (B6). */
  step: z.enum(['scheduled', 'pulling', 'booting', 'probing', 'ready']),
  percent: z.number().int(),
  bytes_done: z.number().nullable(),
  bytes_total: z.number().nullable(),
})
z.globalRegistry.add(progress, { id: 'InstanceProgress' })

/** How a start command ended last, by the word of its own machine. */
export const commandEnd = z.object({
  /** As shells say it: 127 where there is no such program, 126 where it cannot be run, 128 and more for a signal. */
  exit_code: z.number().int(),
  ended_at: timestamp,
  /** How many times it has ended since the machine became ready. */
  count: z.number().int(),
  /** When it is run again, or was; null where it is not. */
  again_at: timestamp.nullable(),
})
z.globalRegistry.add(commandEnd, { id: 'CommandEnd' })

export const instance = z.object({
  instance_id: z.string(),
  name: z.string(),
  kind: z.enum(['POD', 'VM']),
  status: z.enum(INSTANCE_STATUSES),
  /** When it came to be in this status. */
  status_since: timestamp,
  reason: reason.nullable(),
  progress: progress.nullable(),
  region_code: z.string(),
  region_name: z.string(),
  gpu_spec_id: z.string(),
  gpu_spec_name: z.string(),
  gpu: z.boolean(),
  gpu_count: z.number().int(),
  vram_gb: z.number().int(),
  vcpu: z.number().int(),
  memory_gb: z.number().int(),
  /** True when its GPUs are simulated (B1). */
  simulated: z.boolean(),
  /** Null where it is made from a reference. */
  image_id: z.string().nullable(),
  image_reference: z.string().nullable(),
  image_name: z.string(),
  billing_type: z.enum(['postpay', 'prepay']),
  charge_cycle: z.enum(CHARGE_CYCLES).nullable(),
  /** When what is paid for in advance ends; null on demand, and until its first term has begun. */
  expiry_time: timestamp.nullable(),
  /** Whether it is renewed then; otherwise it is released. */
  auto_renew: z.boolean(),
  /** What its last term cost; null on demand. */
  term_micro: micro.nullable(),
  /** Where its TCP and UDP ports are reached; null where it has none, and where nobody reaches them from outside. */
  eip: publicIp.nullable(),
  disks: z.object({
    /** Of a pod, and of a virtual machine: the other one's is 0. Of either, `free_gb` cost nothing (R9.5). */
    container_gb: z.number().int(),
    system_gb: z.number().int(),
    free_gb: z.number().int(),
    /** Disks beside that, and where they stand: 0 and null where there is none. */
    data_gb: z.number().int(),
    data_path: z.string().nullable(),
    pod_volume_gb: z.number().int(),
    pod_volume_path: z.string().nullable(),
    network_volume: z.object({ id: z.string(), path: z.string() }).nullable(),
  }),
  http_ports: z.array(z.number().int()),
  tcp_ports: z.array(z.number().int()),
  udp_ports: z.array(z.number().int()),
  /** Empty where the image's own runs. */
  start_command: z.string(),
  on_command_end: z.enum(COMMAND_END_RULES),
  /** Null while it has not ended since the machine became ready, and while the instance does not run. */
  command_end: commandEnd.nullable(),
  /** Whether it runs with another environment or command than it is to have: it takes them on when it is started next. */
  changes_wait: z.boolean(),
  /** When it is stopped by itself unless it stopped before; null: never. */
  stop_at: timestamp.nullable(),
  /** What it may cost in all before it is stopped by itself; null: any amount. */
  spend_limit_cents: z.number().int().nullable(),
  /** How long it may be idle before it is stopped by itself: no connection, processors and GPUs under 5 %; null: for ever. */
  idle_stop_minutes: z.number().int().nullable(),
  /** Whether it starts again by itself once money has come, where it was stopped because none was left (B4). */
  resume_after_topup: z.boolean(),
  currency: z.string(),
  /** What is metered, but for a public IP of its own; nothing is of what is paid for in advance. */
  running_micro_per_hour: micro,
  stopped_micro_per_day: micro,
  /** What a GB that it sends costs, however the rest is paid for; 0 where that is free. */
  traffic_micro_per_gb: micro,
  /** All that it has cost so far, but for a public IP of its own. */
  cost_micro: micro,
  /** When the machine last became ready; null while it is not running. */
  ready_at: timestamp.nullable(),
  stopped_at: timestamp.nullable(),
  /** When a stopped pod is deleted unless it is started (R9.6). */
  deleted_on: timestamp.nullable(),
  created_at: timestamp,
  /** The driver that runs it and what it says of its walls and limits. */
  machine: z.object({ driver: z.string(), notes: z.array(machineNote) }).nullable(),
})
z.globalRegistry.add(instance, { id: 'Instance' })
export type Instance = z.infer<typeof instance>

export const instanceChange = z.object({ instance_id: z.string(), status: z.enum(INSTANCE_STATUSES) })
z.globalRegistry.add(instanceChange, { id: 'InstanceChange' })
export type InstanceChange = z.infer<typeof instanceChange>

const byId = z.object({ id: instanceId })

/** Reads that are old when something begins or ceases to run. */
export const WHAT_RUNS = [
  'instance.list',
  'instance.page',
  'instance.get',
  'instance.events',
  'instance.logs',
  'instance.follow-logs',
  'instance.connection',
  'instance.price',
  'instance.billing-preview',
  'instance.check-resource',
  'instance.setup',
  'gpu_spec.list',
  'netvolume.list',
  'netvolume.price',
  'eip.price',
  ...MONEY_READS,
] as const

export const deployInstance = defineCall({
  operation: 'instance.deploy',
  method: 'POST',
  path: '/api/instance/',
  summary:
    'Deploys an instance and reserves its first hour, or the price of its first term. Billing begins when it is ready.',
  audience: 'verified',
  timeout: 'deploy',
  spends: true,
  audit: { target: ['data.instance_id'] },
  stales: WHAT_RUNS,
  bodyBytesMax: DEPLOY_BODY_BYTES_MAX,
  body: deployBody,
  data: instanceChange,
})

export const listInstances = defineCall({
  operation: 'instance.list',
  method: 'GET',
  path: '/api/instance/',
  summary: "The customer's instances, newest first.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: z.array(instance),
})

export const editInstance = defineCall({
  operation: 'instance.edit',
  method: 'PUT',
  path: '/api/instance/',
  summary: 'Changes an instance. What is left out stays as it is.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['body.instance_id'] },
  stales: WHAT_RUNS,
  bodyBytesMax: DEPLOY_BODY_BYTES_MAX,
  body: z.object({
    instance_id: instanceId,
    name: instanceName.optional(),
    stop_at: stopAt.optional(),
    spend_limit_cents: spendLimitCents.optional(),
    idle_stop_minutes: idleStopMinutes.optional(),
    resume_after_topup: z.boolean(by('wrong_type')).optional(),
    /** Ports are opened and closed at once, whether or not it runs. */
    http_ports: ports.optional(),
    tcp_ports: ports.optional(),
    udp_ports: ports.optional(),
    env: envChanges.optional(),
    /** All that are secret from now on. One that was secret stays so unless it gets another value by the same call. */
    secret_env: secretEnv.optional(),
    start_command: startCommand.optional(),
    on_command_end: commandEndRule.optional(),
    /** Whoever is signed in with a key that may no longer is signed out. */
    ssh_key_ids: sshKeyIds.optional(),
    /** Restarts it in the same step where it runs, so that it takes on everything. */
    restart: z.boolean(by('wrong_type')).default(false),
  }),
  data: instanceChange,
})

export const terminateInstance = defineCall({
  operation: 'instance.terminate',
  method: 'DELETE',
  path: '/api/instance/{id}',
  summary: 'Removes an instance and all that it stored. Allowed from every state.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_RUNS,
  params: byId,
  data: instanceChange,
})

export const stopInstance = defineCall({
  operation: 'instance.stop',
  method: 'PUT',
  path: '/api/instance/{id}/stop',
  summary: 'Stops an instance. Its disk stays and costs its fee per day.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_RUNS,
  params: byId,
  data: instanceChange,
})

export const restartInstance = defineCall({
  operation: 'instance.restart',
  method: 'PUT',
  path: '/api/instance/{id}/restart',
  summary: 'Restarts an instance.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_RUNS,
  params: byId,
  data: instanceChange,
})

export const startInstance = defineCall({
  operation: 'instance.start',
  method: 'POST',
  path: '/api/instance/start',
  summary: 'Starts a stopped instance on the GPUs named, and reserves its first hour.',
  audience: 'verified',
  timeout: 'deploy',
  spends: true,
  audit: { target: ['body.instance_id'] },
  stales: WHAT_RUNS,
  body: z.object({ instance_id: instanceId, gpu_count: gpuCount, gpu_spec_id: slug }),
  data: instanceChange,
})

/**
 * What keeps a port of a dedicated address closed: the gateway may not open such a low number, another program has it, or
 * no gateway that runs has the address.
 */
export const PORT_TROUBLES = ['not_permitted', 'taken', 'no_gateway'] as const

/** A port of an instance that is reached from outside by a host and a port of its own. */
const directPort = z.object({
  port: z.number().int(),
  host: z.string(),
  public_port: z.number().int(),
  /** Why nobody answers there, at an address of its own; null where somebody does. */
  trouble: z.enum(PORT_TROUBLES).nullable(),
})
z.globalRegistry.add(directPort, { id: 'DirectPort' })

/** What the agent in a virtual machine says of its system: its customer's word. */
export const guestFacts = z.object({
  os: z.string().nullable(),
  addresses: z.array(z.object({ interface: z.string(), address: z.string() })),
})
z.globalRegistry.add(guestFacts, { id: 'GuestFacts' })

/** How to reach an instance (R2.23). */
export const connection = z.object({
  instance_id: z.string(),
  http: z.array(
    z.object({
      port: z.number().int(),
      /** On an origin of its own, so that a customer's page never reads the console's storage. */
      url: z.string(),
      /** Null until probed. */
      listening: z.boolean().nullable(),
    }),
  ),
  /** Null where this installation offers no SSH. */
  ssh: z
    .object({
      host: z.string(),
      port: z.number().int(),
      /** Says which instance is meant. */
      user: z.string(),
      /** Of the server's keys, as `ssh-keygen -l` prints them: what a client shows at the first time. */
      fingerprints: z.array(z.object({ type: z.string(), fingerprint: z.string() })),
      /** Leads on to the SSH server of the machine's own system, as root there: of a virtual machine. */
      own_server: z.boolean(),
    })
    .nullable(),
  tcp: z.array(directPort),
  udp: z.array(directPort),
  terminal: z.object({ running: z.boolean() }),
  /** Null where its system says nothing of itself: no virtual machine, or none with an agent. */
  guest: guestFacts.nullable(),
})
z.globalRegistry.add(connection, { id: 'Connection' })
export type Connection = z.infer<typeof connection>

export const getConnection = defineCall({
  operation: 'instance.connection',
  method: 'GET',
  path: '/api/instance/{id}/connection',
  summary: 'HTTP services, terminal, SSH and direct ports of an instance.',
  audience: 'verified',
  timeout: 'normal',
  params: byId,
  data: connection,
})

/** The number of a virtual machine's serial console, which is no shell: all who look at it share its one end. */
export const TERMINAL_SERIAL = 0

/** Which of an instance's shells in the browser is meant; 0 is the serial console of a virtual machine. */
const terminalSession = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(TERMINAL_SERIAL, by('too_small'))
  .max(TERMINAL_SESSIONS_MAX, by('shells_max'))

export const startWebTerminal = defineCall({
  operation: 'instance.start-web-terminal',
  method: 'POST',
  path: '/api/instance/start-web-terminal',
  summary:
    'A single-use ticket for the socket of one of an instance’s shells, or of its serial console. A shell outlives its sockets until it is stopped.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['body.instance_id'] },
  stales: ['instance.connection'],
  body: z.object({
    instance_id: instanceId,
    /**
     * Opened by its first socket if there is none of that number. Those of a virtual machine are opened by its own SSH server;
     * its serial console needs none.
     */
    session: terminalSession.default(1),
  }),
  data: z.object({
    /** Send it as the WebSocket subprotocol `berth.ticket.<ticket>` beside `berth.terminal`. */
    ticket: z.string(),
    /** Path of the socket on this origin, as it is: the ticket opens no other. */
    path: z.string(),
    expires_at: timestamp,
    /** Shells that are open, as far as that could be found out in a moment; the lowest number first. */
    sessions: z.array(z.number().int()),
    /** How many the instance may have. */
    sessions_max: z.number().int(),
    /** Whether it has a serial console, which is number 0. */
    has_serial: z.boolean(),
  }),
})

export const stopWebTerminal = defineCall({
  operation: 'instance.stop-web-terminal',
  method: 'POST',
  path: '/api/instance/stop-web-terminal',
  summary: 'Ends a shell of the web terminal, or all of them.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['body.instance_id'] },
  stales: ['instance.connection'],
  body: z.object({
    instance_id: instanceId,
    /** Null ends all. */
    session: terminalSession.nullable().default(null),
  }),
  data: z.object({ instance_id: z.string() }),
})

/**
 * One thing that was looked at before money moves (B7). `code` names the text, `values` fill it; `field` is among them
 * where it is about one of the deploy's fields.
 */
export const check = z.object({
  key: z.enum([
    'region',
    'stock',
    'image',
    'disk',
    'own_disk',
    'balance',
    'budget',
    'compute',
    'public_ip',
    'network_volume',
    'ports',
  ]),
  ok: z.boolean(),
  code: z.string(),
  values: z.record(z.string(), z.union([z.string(), z.number()])),
})
z.globalRegistry.add(check, { id: 'DeployCheck' })
export type Check = z.infer<typeof check>

const checks = z.object({ ok: z.boolean(), checks: z.array(check) })
z.globalRegistry.add(checks, { id: 'DeployChecks' })

export const checkResource = defineCall({
  operation: 'instance.check-resource',
  method: 'POST',
  path: '/api/instance/check-resource',
  summary: 'Whether a deploy would be accepted now, check by check.',
  audience: 'user',
  timeout: 'normal',
  readOnly: true,
  body: quoteFields.extend({
    ...imageChoiceFields,
    gpu_count: gpuCount,
    container_disk_gb: diskGb,
    ...ownDisks,
    /** The network volume that it is to have; null: none. */
    network_volume_id: volumeId.nullable().default(null),
    // One that is named twice is what is looked for.
    http_ports: portNumbers.default([]),
    tcp_ports: portNumbers.default([]),
    udp_ports: portNumbers.default([]),
  }),
  data: checks,
})

const fromQuery = (schema: typeof gpuCount) => z.coerce.number(by('not_a_number')).pipe(schema)

export const getPrice = defineCall({
  operation: 'instance.price',
  method: 'GET',
  path: '/api/instance/price',
  summary: 'What an instance would cost.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  query: quoteFields.extend({
    gpu_count: fromQuery(gpuCount),
    container_disk_gb: fromQuery(diskGb),
    data_disk_gb: fromQuery(ownDiskGb).optional(),
    pod_volume_gb: fromQuery(ownDiskGb).optional(),
  }),
  data: price,
})

export const instanceEvent = z.object({
  id: z.string(),
  at: timestamp,
  status: z.enum(INSTANCE_STATUSES),
  /** What happened, as a key of the console's texts: `deployed`, `ready`, `stopped_by_customer`… */
  code: z.enum(INSTANCE_EVENT_CODES),
  detail: z.string(),
})
z.globalRegistry.add(instanceEvent, { id: 'InstanceEvent' })
export type InstanceEvent = z.infer<typeof instanceEvent>

export const listInstanceEvents = defineCall({
  operation: 'instance.events',
  method: 'GET',
  path: '/api/instance/{id}/events',
  summary: 'What happened to an instance, newest first.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: byId,
  data: z.array(instanceEvent),
})

/** The end of what an instance's start command wrote. */
export const instanceLog = z.object({
  /** Lines without colours and other controls of a terminal; empty where there are none yet. */
  text: z.string(),
  /** Whether there were more lines before. */
  cut: z.boolean(),
})
z.globalRegistry.add(instanceLog, { id: 'InstanceLog' })
export type InstanceLog = z.infer<typeof instanceLog>

export const getInstanceLogs = defineCall({
  operation: 'instance.logs',
  method: 'GET',
  path: '/api/instance/{id}/logs',
  summary: 'The last lines that the start command of an instance wrote, as plain text.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: byId,
  data: instanceLog,
})

export const instanceCalls = [
  deployInstance,
  listInstances,
  editInstance,
  terminateInstance,
  stopInstance,
  restartInstance,
  startInstance,
  getConnection,
  startWebTerminal,
  stopWebTerminal,
  checkResource,
  getPrice,
  listInstanceEvents,
  getInstanceLogs,
] as const
