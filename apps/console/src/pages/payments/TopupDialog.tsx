import { listOpenTopups, listPayPlatforms, topup } from '@berth/contract/billing'
import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type RefObject, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { reread } from '../../api/cache-lifecycle.ts'
import { balanceQuery, queryOf } from '../../api/queries.ts'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { toast } from '../../ui/toast.ts'
import { PaymentInFlight } from './PaymentInFlight.tsx'
import { NOTHING_TYPED, TopupForm, type TopupValues } from './TopupForm.tsx'

interface TopupDialogProps {
  opened: boolean
  /** The payment that a platform sent the browser back from; null begins with whatever is in flight, or the form. */
  payment: string | null
  onClose: () => void
}

/** Adds to the balance by a one-time charge (R2.22). */
export function TopupDialog({ opened, payment, onClose }: TopupDialogProps) {
  const { t } = useTranslation(['payments', 'common'])
  // Outlives the form, which is away while a payment is in flight, and the dialog while it is closed.
  const typed = useRef<TopupValues>(NOTHING_TYPED)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('topup.title')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={440}
    >
      <TopupBody key={payment} payment={payment} typed={typed} onClose={onClose} />
    </Modal>
  )
}

interface TopupBodyProps extends Omit<TopupDialogProps, 'opened'> {
  typed: RefObject<TopupValues>
}

/**
 * A payment that is in flight is shown before a new one can be begun, however the page was left; what became of it
 * is asked from the gateway alone.
 */
function TopupBody({ payment, typed, onClose }: TopupBodyProps) {
  const { t } = useTranslation(['payments', 'errors'])
  const format = useFormat()
  const platforms = useQuery(queryOf(listPayPlatforms, {}))
  const balance = useQuery(balanceQuery)
  // Not kept: the next look at the dialog asks again.
  const open = useQuery({ ...queryOf(listOpenTopups, {}), gcTime: 0 })
  /** The payment that is followed; undefined until it is known whether there is one. */
  const [followed, setFollowed] = useState<string | null | undefined>(payment ?? undefined)
  if (followed === undefined && open.data) setFollowed(open.data[0]?.transaction_id ?? null)

  // A payment that moves while it is looked at makes the same reads old as the call that began it.
  const refresh = () => void reread([...topup.stales])
  const finish = (paid: { amount: number; currency: string }) => {
    typed.current = NOTHING_TYPED
    toast.good(t('topup.done', { amount: format.cents(paid.amount, paid.currency) }))
    refresh()
    onClose()
  }
  if (followed) {
    return (
      <PaymentInFlight
        key={followed}
        id={followed}
        onSettled={finish}
        onEnded={refresh}
        onRefunded={() => {
          refresh()
          onClose()
        }}
        onAgain={() => setFollowed(null)}
        onClose={onClose}
      />
    )
  }
  const platform = platforms.data?.[0]
  if (platforms.data?.length === 0 && followed === null) return <p>{t('errors:payments_not_set_up')}</p>
  // Without knowing what is in flight nothing new is begun.
  const failed = [platforms, open, balance].filter(({ data, error }) => data === undefined && error !== null)
  const error = failed[0]?.error
  if (platform && balance.data && followed === null) {
    return (
      <TopupForm
        platform={platform}
        balance={balance.data}
        typed={typed}
        onSettled={finish}
        onInFlight={setFollowed}
      />
    )
  }
  if (!error) return <SkeletonRows rows={4} />
  return (
    <ErrorState
      message={error.message}
      requestId={error.requestId}
      onRetry={() => {
        for (const query of failed) void query.refetch()
      }}
    />
  )
}
