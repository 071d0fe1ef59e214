import type { Instance } from '@berth/contract/instances'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { usePageSearch } from '../../app/search.ts'
import { useSession } from '../../app/session/session.ts'
import type { AskedAction } from '../../instances/DialogHost.tsx'
import { allowedOnlyIn, needsVerified } from '../../instances/instance-actions.ts'
import { useInstanceTexts } from '../../instances/instance-texts.ts'
import type { Asked } from '../../lists/use-asked.ts'
import { toast } from '../../ui/toast.ts'
import { askedSearch } from './search.ts'

/**
 * Opens the dialog that the address asks for, as in `?dialog=stop&instance=i-7h2k`, once the list is there: the
 * command palette sends people here that way. The address forgets it at once, so that neither a reload nor the way
 * back asks again.
 * @param instances The list; undefined before its first answer.
 * @param ask Opens a dialog.
 */
export function useAskedByAddress(
  instances: readonly Instance[] | undefined,
  ask: Asked<AskedAction>['ask'],
): void {
  const { t } = useTranslation(['instances', 'errors'])
  const texts = useInstanceTexts()
  const { user } = useSession()
  const [{ dialog, instance: id }, setSearch] = usePageSearch(askedSearch)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another address, or the list's arrival, asks.
  useEffect(() => {
    if (dialog === '' || !instances) return
    setSearch({ dialog: '', instance: '' })
    const instance = instances.find(({ instance_id }) => instance_id === id)
    if (!instance) return toast.bad(t('errors:not_found'))
    if (needsVerified(dialog) && user && !user.emailVerified)
      return toast.info(t('errors:account_not_activated'))
    // It may have changed since the palette looked.
    const only = allowedOnlyIn(dialog, instance)
    if (only) return toast.info(texts.onlyIn(only))
    ask({ action: dialog, instance }, null)
  }, [dialog, id, instances === undefined])
}
