import { ApiError } from '../../platform/http/api-error.ts'
import type { Instances, Target } from '../instances/instances.ts'

/**
 * Whether a customer's own instance is there and runs.
 * @throws What the database throws: when it does not answer, nothing is known of the machine.
 */
export async function isRunning(instances: Pick<Instances, 'findRunning'>, target: Target): Promise<boolean> {
  try {
    await instances.findRunning(target.userId, target.instanceId)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}
