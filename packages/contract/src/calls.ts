import { accountCalls } from './account.ts'
import { billingCalls } from './billing.ts'
import { imageCalls } from './images.ts'
import { instanceCalls } from './instances.ts'
import { regionCalls } from './regions.ts'

/** Every call of the gateway, in the order of the published document (R7.9). */
export const calls = [
  ...accountCalls,
  ...regionCalls,
  ...imageCalls,
  ...instanceCalls,
  ...billingCalls,
] as const
