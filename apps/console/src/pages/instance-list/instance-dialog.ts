import { getBalance } from '@berth/contract/billing'
import { type Instance, listInstances } from '@berth/contract/instances'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'

/** What every dialog of a row gets. */
export interface InstanceDialogProps {
  instance: Instance
  opened: boolean
  onClose: () => void
}

/**
 * Reads again what an action may have changed. Nothing is shown before the gateway has confirmed it.
 * @returns A function that is done when the list has its answer.
 */
export function useReread(): () => Promise<void> {
  const queries = useQueryClient()
  return useCallback(async () => {
    void queries.invalidateQueries({ queryKey: [getBalance.operation] })
    await queries.invalidateQueries({ queryKey: [listInstances.operation] })
  }, [queries])
}
