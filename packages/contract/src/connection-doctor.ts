import * as z from 'zod'
import { defineCall } from './call.ts'
import { timestamp } from './fields.ts'
import { instanceId } from './instances.ts'

/**
 * What the doctor may say of the ways into an instance (B8), and how: a `fault` keeps somebody out, a `note` may, and what
 * is `good` was seen to work. `instance` concerns all ways.
 */
export const CONNECTION_FINDINGS = {
  instance_terminated: { of: 'instance', level: 'fault' },
  instance_stopped: { of: 'instance', level: 'fault' },
  instance_starting: { of: 'instance', level: 'fault' },
  instance_stopping: { of: 'instance', level: 'fault' },
  instance_failed: { of: 'instance', level: 'fault' },
  engine_unreached: { of: 'instance', level: 'fault' },
  machine_full: { of: 'instance', level: 'fault' },
  // Its start command, by `exit_code`: 126 and 127 mean that there is no such program, or none that can be run.
  program_missing: { of: 'instance', level: 'fault' },
  command_failed: { of: 'instance', level: 'fault' },
  command_ended: { of: 'instance', level: 'note' },

  key_none: { of: 'ssh', level: 'fault' },
  // None of those that are stored may sign in to this instance.
  key_none_chosen: { of: 'ssh', level: 'fault' },
  // The last client that asked for this instance; each with `at`, `address` and, where it had a key, `fingerprint` and `type`.
  key_unknown: { of: 'ssh', level: 'fault' },
  key_not_chosen: { of: 'ssh', level: 'fault' },
  key_not_offered: { of: 'ssh', level: 'fault' },
  too_many_keys: { of: 'ssh', level: 'fault' },
  key_signature_old: { of: 'ssh', level: 'fault' },
  key_signature_wrong: { of: 'ssh', level: 'fault' },
  signed_in: { of: 'ssh', level: 'good' },
  nobody_asked: { of: 'ssh', level: 'note' },
  ssh_not_offered: { of: 'ssh', level: 'fault' },
  // Of a virtual machine, which lets in by its own SSH server.
  guest_closed: { of: 'ssh', level: 'fault' },
  guest_unsure: { of: 'ssh', level: 'fault' },
  guest_host_key: { of: 'ssh', level: 'fault' },
  guest_key_refused: { of: 'ssh', level: 'fault' },
  machine_outdated: { of: 'ssh', level: 'fault' },
  shell_missing: { of: 'ssh', level: 'fault' },
  shell_unsure: { of: 'ssh', level: 'note' },
  shell_works: { of: 'ssh', level: 'good' },

  // Of a declared port: nobody listens; a program does, but on `addresses` that are not reached.
  port_silent: { of: 'port', level: 'fault' },
  port_elsewhere: { of: 'port', level: 'fault' },
  port_unsure: { of: 'port', level: 'note' },
  // Listened on by a program, and not among the declared: `ports`.
  port_undeclared: { of: 'port', level: 'note' },
  http_foreign: { of: 'port', level: 'fault' },
  http_slow: { of: 'port', level: 'fault' },
  http_error: { of: 'port', level: 'fault' },
  http_answers: { of: 'port', level: 'good' },
  tcp_not_offered: { of: 'port', level: 'fault' },
  tcp_untried: { of: 'port', level: 'note' },
  tcp_listens: { of: 'port', level: 'good' },
  // Of a declared port of datagrams: whether a program listens is read in the machine, since none need ever answer.
  udp_silent: { of: 'port', level: 'fault' },
  udp_unsure: { of: 'port', level: 'note' },
  udp_listens: { of: 'port', level: 'good' },
  // At the address that an instance has for itself, with `protocol` and `host`: another program there has the port, the
  // gateway may not open it, or no gateway has the address at the moment.
  address_port_taken: { of: 'port', level: 'fault' },
  address_port_denied: { of: 'port', level: 'fault' },
  address_away: { of: 'port', level: 'fault' },
} as const satisfies Record<string, { of: 'instance' | 'ssh' | 'port'; level: 'fault' | 'note' | 'good' }>
export type ConnectionFindingCode = keyof typeof CONNECTION_FINDINGS

/** One thing that the doctor found: `code` is a key of the console's texts, `values` are what stands in them. */
export const connectionFinding = z.object({
  code: z.enum(Object.keys(CONNECTION_FINDINGS) as [ConnectionFindingCode, ...ConnectionFindingCode[]]),
  level: z.enum(['fault', 'note', 'good']),
  of: z.enum(['instance', 'ssh', 'port']),
  /** The port of the instance that it is about; null where it is about none, or several. */
  port: z.number().int().nullable(),
  values: z.record(z.string(), z.union([z.string(), z.number()])),
})
z.globalRegistry.add(connectionFinding, { id: 'ConnectionFinding' })
export type ConnectionFinding = z.infer<typeof connectionFinding>

export const connectionDiagnosis = z.object({
  instance_id: z.string(),
  checked_at: timestamp,
  /** What concerns the whole instance first, then SSH, then ports. */
  findings: z.array(connectionFinding),
})
z.globalRegistry.add(connectionDiagnosis, { id: 'ConnectionDiagnosis' })
export type ConnectionDiagnosis = z.infer<typeof connectionDiagnosis>

export const diagnoseConnection = defineCall({
  operation: 'instance.diagnose-connection',
  method: 'GET',
  path: '/api/instance/{id}/connection/diagnosis',
  summary: 'Says what keeps a customer out of an instance, by trying each way into it (B8).',
  audience: 'verified',
  timeout: 'long',
  params: z.object({ id: instanceId }),
  data: connectionDiagnosis,
})

export const connectionDoctorCalls = [diagnoseConnection] as const
