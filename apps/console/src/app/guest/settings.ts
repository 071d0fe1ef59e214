import { getSettings } from '@berth/contract/account'
import { useEffect } from 'react'
import { useCall } from '../../api/use-call.ts'
import { loadAnalytics } from '../analytics.ts'

const NOTHING = {}

/** Brand, links and what this installation has, for the pages outside the shell; null until it is known. */
export function useGuestSettings() {
  const { data } = useCall(getSettings, NOTHING)
  useEffect(() => loadAnalytics(data?.brand.analytics ?? null), [data])
  return data
}
