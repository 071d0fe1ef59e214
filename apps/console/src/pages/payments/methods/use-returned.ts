import { listPaymentMethods, type PaymentMethod } from '@berth/contract/payment-methods'
import { useEffect, useEffectEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { reread } from '../../../api/cache-lifecycle.ts'
import { toast } from '../../../ui/toast.ts'

/**
 * Says what became of a card whose customer comes back from the page where it was entered, or where its bank asked. Only
 * the list says it, which has it from the platform; while it does not know yet, the row says that it is waited for.
 * @param id The card's; empty where nobody comes back.
 * @param methods The list; undefined before its first answer.
 * @param onSaid It is said, once: a reload says nothing again.
 */
export function useReturned(
  id: string,
  methods: readonly PaymentMethod[] | undefined,
  onSaid: () => void,
): void {
  const { t } = useTranslation(['methods', 'errors'])
  const method = methods?.find(one => one.id === id)
  // Not there: it was ended, or it is the same as one that was kept before.
  const status = methods === undefined || id === '' ? null : (method?.status ?? 'gone')
  const say = useEffectEvent(() => {
    if (status === null || status === 'saving') return
    if (status === 'saved') toast.good(t('add.done'))
    if (status === 'refused')
      toast.bad(t(`errors:${(method?.refused_for ?? 'payment_failed') as 'card_declined'}`))
    if (status === 'saved') void reread([listPaymentMethods.operation, 'bill.check-payable'])
    onSaid()
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: each status is said once.
  useEffect(() => say(), [status])
}
