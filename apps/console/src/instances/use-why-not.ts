import type { Instance } from '@berth/contract/instances'
import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { allowedOnlyIn, ipObstacle, paidObstacle, type RowAction } from './instance-actions.ts'
import { useInstanceTexts } from './instance-texts.ts'

/** Why an instance does not allow an action, by its status, the way it is paid for or its address, in a sentence (R4.5); null: it does. */
export function useWhyNot(): (action: RowAction, instance: Instance) => string | null {
  const { t } = useTranslation('errors')
  const texts = useInstanceTexts()
  return useCallback(
    (action, instance) => {
      const statuses = allowedOnlyIn(action, instance)
      // The seed has words of its own for images (R4.6).
      if (statuses && action === 'create_image')
        return t(instance.kind === 'POD' ? 'create_image_pod' : 'create_image_vm')
      if (statuses) return texts.onlyIn(statuses)
      const obstacle = paidObstacle(action, instance) ?? ipObstacle(action, instance)
      return obstacle && t(obstacle)
    },
    [t, texts],
  )
}
