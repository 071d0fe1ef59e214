import { ApiError } from '../../platform/http/api-error.ts'
import type { Instances, Target } from '../instances/instances.ts'

export type RunningInstance = Awaited<ReturnType<Instances['findRunning']>>

/**
 * A customer's own instance, if it is there and runs; null where it does not.
 * @throws What the database throws: when it does not answer, nothing is known of the machine.
 */
export async function runningOf(
  instances: Pick<Instances, 'findRunning'>,
  target: Target,
): Promise<RunningInstance | null> {
  try {
    return await instances.findRunning(target.userId, target.instanceId)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

/** Whether a customer's own instance is there and runs. @throws As `runningOf`. */
export async function isRunning(instances: Pick<Instances, 'findRunning'>, target: Target): Promise<boolean> {
  return (await runningOf(instances, target)) !== null
}
