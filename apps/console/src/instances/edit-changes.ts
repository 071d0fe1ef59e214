import type { CallInput } from '@berth/contract/call'
import type { DeploySetup } from '@berth/contract/deploy-templates'
import type { editInstance, Instance } from '@berth/contract/instances'

type Changes = Omit<CallInput<typeof editInstance>['body'], 'instance_id' | 'restart'>

/** What of an instance the dialog changes, as the call has it; variables all together. */
export type Edited = Pick<
  DeploySetup,
  | 'name'
  | 'stop_at'
  | 'spend_limit_cents'
  | 'idle_stop_minutes'
  | 'http_ports'
  | 'tcp_ports'
  | 'udp_ports'
  | 'ssh_key_ids'
  | 'start_command'
  | 'on_command_end'
  | 'env'
> &
  Pick<Instance, 'resume_after_topup'>

/**
 * What is not as it was when the form opened.
 * @param before Of secret variables the values are empty: nobody is told them.
 * @param wanted As the form has it. A secret without a value keeps the one that it has.
 * @param secrets Names of all that are to be secret.
 */
export function changesOf(
  before: Edited & Pick<DeploySetup, 'secret_env'>,
  { env, ...wanted }: Edited,
  secrets: readonly string[],
): Changes {
  const entries = Object.entries(wanted).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof Edited]),
  )
  const typed = Object.entries(env).filter(([name, value]) => before.env[name] !== value)
  const gone = Object.keys(before.env).filter(name => !Object.hasOwn(env, name))
  const kept = before.secret_env.filter(name => env[name] === '')
  const secret_env = [...new Set([...secrets, ...kept])].toSorted()
  return {
    ...Object.fromEntries(entries),
    ...(typed.length + gone.length > 0 && {
      env: Object.fromEntries([...typed, ...gone.map(name => [name, null])]),
    }),
    ...(secret_env.join() !== before.secret_env.toSorted().join() && { secret_env }),
  }
}

/** Whether it is something that a machine takes on when it is started. */
export function isForStart({ env, start_command, on_command_end }: Changes): boolean {
  return [env, start_command, on_command_end].some(change => change !== undefined)
}
