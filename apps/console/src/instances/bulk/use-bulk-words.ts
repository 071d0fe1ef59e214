import type { Instance } from '@berth/contract/instances'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useInstanceTexts } from '../instance-texts.ts'
import { useWhyNot } from '../use-why-not.ts'
import { type BulkInstanceAction, isDoneAlready, ROW_ACTION_OF } from './bulk-plan.ts'

/** The words for what is done to many instances. */
interface BulkWords {
  /** A verb. */
  label: (action: BulkInstanceAction) => string
  /** Why an action does not go with an instance, in a sentence (R4.5); null: it does. */
  whyNot: (action: BulkInstanceAction, instance: Instance) => string | null
}

/** The words of the bar and its questions; they change with the language. */
export function useBulkWords(): BulkWords {
  const { t } = useTranslation('bulk')
  const texts = useInstanceTexts()
  const whyNot = useWhyNot()
  return useMemo(
    () => ({
      label: action => texts.action(ROW_ACTION_OF[action], { auto_renew: action !== 'renewal_on' }),
      whyNot(action, instance) {
        const reason = whyNot(ROW_ACTION_OF[action], instance)
        if (reason !== null || !isDoneAlready(action, instance)) return reason
        return t(action === 'renewal_on' ? 'renewal_on.already' : 'renewal_off.already')
      },
    }),
    [t, texts, whyNot],
  )
}
