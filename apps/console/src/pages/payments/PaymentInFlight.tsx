import { cancelTopup, getTopup, type TopupState } from '@berth/contract/billing'
import { Button } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { told, useChange } from '../../api/use-change.ts'
import { useCardText } from '../../receipts/card-text.ts'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'
import classes from './PaymentInFlight.module.css'

/** Somebody looks at it and waits. */
const POLL_MS = 2_000

const OPEN: ReadonlySet<TopupState['status']> = new Set(['requires_action', 'pending', 'processing'])

interface PaymentInFlightProps {
  /** The top-up's transaction. */
  id: string
  onSettled: (topup: TopupState) => void
  /** It ended without money. */
  onEnded: () => void
  /** It was paid, and given back since: the list says so. */
  onRefunded: () => void
  /** The customer wants to fill in the form again. */
  onAgain: () => void
  onClose: () => void
}

/** One payment until it is decided: what is asked, that it is on its way, or why nothing was charged. */
export function PaymentInFlight(props: PaymentInFlightProps) {
  const { id, onSettled, onEnded, onRefunded, onAgain, onClose } = props
  const query = queryOf(getTopup, { params: { id } })
  const { data, error, refetch } = useQuery({
    ...query,
    refetchInterval: ({ state }) => (isOpen(state.data) ? POLL_MS : false),
    // Whoever comes back from the bank's page wants to know at once.
    refetchOnWindowFocus: 'always',
  })
  const status = data?.status
  const tell = useEffectEvent(() => {
    if (data && status === 'settled') onSettled(data)
    if (status === 'refunded') onRefunded()
    if (status === 'failed' || status === 'canceled') onEnded()
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: each status is told once.
  useEffect(() => tell(), [status])
  if (!data && error) {
    return <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
  }
  if (!data) return <SkeletonRows rows={3} />
  if (status === 'requires_action') return <Asked topup={data} unknown={error !== null} />
  if (isOpen(data))
    return <OnItsWay topup={data} unknown={error !== null} onAgain={onAgain} onClose={onClose} />
  if (status === 'settled' || status === 'refunded') return <SkeletonRows rows={3} />
  return <NotCharged topup={data} onAgain={onAgain} />
}

function isOpen(topup: TopupState | undefined): boolean {
  return topup === undefined || OPEN.has(topup.status)
}

interface StepProps {
  topup: TopupState
  /** The last look failed, so that what is shown is of before. */
  unknown: boolean
}

function Asked({ topup, unknown }: StepProps) {
  const { t } = useTranslation('payments')
  const cardText = useCardText()
  const ending = useChange(cancelTopup)
  const confirm = useFocus<HTMLAnchorElement>()
  // Without digits it is no card yet: it is entered at the platform's own page.
  const isHosted = topup.card.last4 === ''
  const platform = topup.card.brand
  return (
    <Step
      topup={topup}
      look={{ shape: 'spinner', tone: 'info' }}
      title={isHosted ? t('topup.flight.hosted', { platform }) : t('topup.flight.waiting')}
      text={
        isHosted
          ? t('topup.flight.hosted_text', { platform })
          : t('topup.flight.waiting_text', { source: cardText(topup.card) })
      }
      unknown={unknown}
    >
      {topup.next_url && (
        <Button
          component="a"
          ref={confirm}
          href={topup.next_url}
          target="_blank"
          rel="noopener"
          rightSection={<IconExternalLink size={16} aria-label={t('topup.flight.new_tab')} />}
        >
          {isHosted ? t('topup.continue', { platform }) : t('topup.flight.confirm')}
        </Button>
      )}
      <Button
        variant="default"
        loading={ending.busy}
        onClick={() => void ending.send({ params: { id: topup.transaction_id } }).catch(told)}
      >
        {t('topup.flight.cancel')}
      </Button>
    </Step>
  )
}

function OnItsWay({
  topup,
  unknown,
  onAgain,
  onClose,
}: StepProps & Pick<PaymentInFlightProps, 'onAgain' | 'onClose'>) {
  const { t } = useTranslation(['payments', 'common'])
  const cardText = useCardText()
  const close = useFocus<HTMLButtonElement>()
  // The bank may take days; an answer of the platform comes in moments, or when it is asked again.
  const at = topup.status === 'processing' ? 'processing' : 'pending'
  return (
    <Step
      topup={topup}
      look={{ shape: 'spinner', tone: 'info' }}
      title={t(`topup.flight.${at}`)}
      text={t(`topup.flight.${at}_text`, { source: cardText(topup.card) })}
      unknown={unknown}
    >
      <Button ref={close} onClick={onClose}>
        {t('common:dialog.close')}
      </Button>
      <Button variant="default" onClick={onAgain}>
        {t('topup.flight.another')}
      </Button>
    </Step>
  )
}

function NotCharged({ topup, onAgain }: { topup: TopupState; onAgain: () => void }) {
  const { t } = useTranslation(['payments', 'errors'])
  const again = useFocus<HTMLButtonElement>()
  const failure = topup.status === 'canceled' ? 'payment_canceled' : (topup.failure ?? 'payment_failed')
  return (
    <Step
      topup={topup}
      look={{ shape: 'cross', tone: 'bad' }}
      title={t('topup.flight.failed')}
      text={t(`errors:${failure as 'card_declined'}`)}
      unknown={false}
    >
      <Button ref={again} onClick={onAgain}>
        {t('topup.flight.again')}
      </Button>
    </Step>
  )
}

interface StepLayoutProps extends StepProps {
  look: StatusLook
  title: string
  text: string
  /** What can be done now. */
  children: ReactNode
}

function Step({ topup, look, title, text, unknown, children }: StepLayoutProps) {
  const { t } = useTranslation('payments')
  const format = useFormat()
  return (
    <div className={classes.step}>
      <div className={classes.head} role="status">
        <StatusBadge look={look} label={title} />
        <span className={classes.amount}>{format.cents(topup.amount, topup.currency)}</span>
      </div>
      <p className={classes.text}>{text}</p>
      {unknown && <p className={classes.unknown}>{t('topup.flight.unknown')}</p>}
      <div className={classes.actions}>{children}</div>
    </div>
  )
}

/** Puts the focus on what can be done next: what had it before is gone. */
function useFocus<Node extends HTMLElement>() {
  const node = useRef<Node>(null)
  useEffect(() => node.current?.focus(), [])
  return node
}
