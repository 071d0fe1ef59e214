import { getSettings } from '@berth/contract/account'
import { useCall } from '../../api/use-call.ts'

const NOTHING = {}

/** Brand, links and what this installation has, for the pages outside the shell; null until it is known. */
export function useGuestSettings() {
  return useCall(getSettings, NOTHING).data
}
