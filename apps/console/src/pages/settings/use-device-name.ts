import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { deviceParts } from './device-name.ts'

/** Longest part of an unread user agent that is shown as it is. */
const RAW_CHARS_MAX = 60

/** Says in words what a session or a request came from, such as `Firefox on Linux`. */
export function useDeviceName(): (userAgent: string) => string {
  const { t } = useTranslation('settings')
  return useCallback(
    userAgent => {
      const { client, system } = deviceParts(userAgent)
      if (client && system) return t('device.client_on_system', { client, system })
      return client ?? system ?? (userAgent.slice(0, RAW_CHARS_MAX) || t('device.unknown'))
    },
    [t],
  )
}
