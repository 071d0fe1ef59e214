import { followInstances } from '@berth/contract/instance-follow'
import { listInstances } from '@berth/contract/instances'
import i18next from 'i18next'
import { useEffect, useSyncExternalStore } from 'react'
import { registerTold } from '../../api/cache-lifecycle.ts'
import { followCall } from '../../api/client.ts'
import { whenBack } from '../../api/connection.ts'
import { queryClient } from '../../api/query-client.ts'
import { createInstanceFollower } from './instance-follower.ts'
import { createToldInstances } from './told-instances.ts'

const told = createToldInstances(queryClient)

const follower = createInstanceFollower({
  async follow(options) {
    const stop = told.watch()
    await followCall(followInstances, {}, options).finally(stop)
  },
  put: told.put,
  isVisible: () => document.visibilityState === 'visible',
  onVisible(listener) {
    document.addEventListener('visibilitychange', listener)
    return () => document.removeEventListener('visibilitychange', listener)
  },
  onBack: whenBack,
  now: () => performance.now(),
  random: Math.random,
})

// The list alone: it may be of thousands. What else a change makes old is one call each, and is read as ever.
registerTold(listInstances.operation, follower.isLive)

// What is told holds the catalogue's words.
i18next.on('languageChanged', follower.restart)

/**
 * Follows the customer's instances while the component is there and its tab is visible (R9.2): what changes comes into
 * what was read of them, by whichever gateway it was changed.
 * @returns Whether it comes by itself just now; where it does not, instances are asked for again and again.
 */
export function useLiveInstances(): boolean {
  useEffect(() => follower.want(), [])
  return useIsLive()
}

/** Whether what changes of instances comes by itself, because the page that the component stands on follows them. */
export function useIsLive(): boolean {
  return useSyncExternalStore(follower.subscribe, follower.isLive)
}
